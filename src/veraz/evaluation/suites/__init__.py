"""What makes a folder of questions and judgements a suite, and how do its judgements survive another cutting of the documents?"""
