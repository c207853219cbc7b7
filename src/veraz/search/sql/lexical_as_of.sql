-- Purpose: the lexical arm over the revisions that held on a day. The inverted file knows current chunks only, so every document vector
-- of a valid revision is compared: exact. How rare a term is, is read from today's corpus; a term that it does not hold counts as rarest.
-- Rows: at most `pool`, best first. Scores: BM25, higher is better.
-- Index: posting_pkey (tenant, analyser, term), revision (tenant), then the tenant prefix of chunk_lexical's primary key.
with valid as materialized (
    select revision_id, authority, revised_at
      from veraz.valid_revisions(%(as_of)s::date, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer, %(licenses)s::text[],
                                 %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date, %(published_from)s::date,
                                 %(published_to)s::date)
), size as materialized (
    select analyser, greatest(sum(chunks), 1)::double precision as chunks
      from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser
), idf as materialized (
    select t.analyser, veraz.dimension(t.term) as dimension,
           t.weight * ln(1 + (greatest(s.chunks, p.chunks) - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
      from veraz.query_terms(%(question)s, %(analyser)s) t
      join size s using (analyser)
     cross join lateral (
            select greatest(coalesce(sum(n), 0), 0) as chunks from veraz.posting
             where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p
), question_vector as materialized (
    select analyser, ('{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}/1000000000')::sparsevec as vec
      from (select analyser, dimension, sum(idf) as idf from idf group by 1, 2) d group by analyser
), scored as (
    select l.chunk_id, -(l.bm25 <#> q.vec) as score, v.authority, v.revised_at
      from valid v
      join veraz.chunk_lexical l on l.tenant_id = veraz.current_tenant() and l.revision_id = v.revision_id
      join question_vector q using (analyser)
)
select chunk_id, score, authority, revised_at, true as is_exact
  from scored where score > 0
 order by score desc, chunk_id
 limit %(pool)s
