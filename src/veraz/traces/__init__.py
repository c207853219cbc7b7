"""Stored records of searches and answers: enough to explain one later, and to run it again."""
