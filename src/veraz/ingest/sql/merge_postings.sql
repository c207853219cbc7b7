-- Purpose: merge the visible deltas of one analyser into blocks. One row: postings taken in.
select veraz.merge_postings(%(analyser)s)
