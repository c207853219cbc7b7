-- Purpose: the lexical rows of one revision. One row: how many chunks were analysed.
select veraz.index_revision(%(revision_id)s, %(analysers)s::text[])
