-- Purpose: the lexical rows and postings of new chunks. One row: how many chunks were analysed.
select veraz.index_chunks(%(chunk_ids)s::uuid[], %(analysers)s::text[], %(title_weight)s::integer)
