-- Purpose: both arms where a question's quotation marks say which words must be there: the chunks that hold the rarest of them are found in the
-- inverted file, checked, and all that pass are scored and compared. Exact. `question` null leaves the lexical arm out, `vector` null the
-- semantic one.
-- Rows: at most `pool` an arm, best first. Scores: BM25; by the space's distance; higher is better.
-- Index: posting_pkey (tenant, analyser, term), chunk_lexical_pkey per chunk that holds the word, then the keys of embedding, document,
-- revision and source per chunk that passes.
with condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant()
), needed as materialized (
    select c.analyser, n.term
      from condition c cross join lateral veraz.needed_terms(c.analyser, %(analyser)s::text, %(condition)s::jsonb) n
), holding as materialized (
    select n.analyser, u.chunk_no
      from needed n
     cross join lateral (
            select block, p.n, chunk_nos from veraz.posting p
             where p.tenant_id = veraz.current_tenant() and p.analyser = n.analyser and p.term = n.term offset 0) p
     cross join lateral unnest(p.chunk_nos) as u (chunk_no)
     group by n.analyser, u.chunk_no
), passing as materialized (
    select l.chunk_id, l.document_id, l.analyser, l.bm25
      from holding h
      join condition c using (analyser)
     cross join lateral (
            select chunk_id, document_id, analyser, bm25, tsv from veraz.chunk_lexical o
             where o.tenant_id = veraz.current_tenant() and o.chunk_no = h.chunk_no and o.is_current offset 0) l
     where l.tsv @@ c.wanted
), permitted as materialized (
    select e.chunk_id, e.analyser, e.bm25, p.authority, p.revised_at
      from passing e
     cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                             %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                             %(published_from)s::date, %(published_to)s::date) p
     where true {conditions}
), size as materialized (
    select analyser, sum(chunks)::double precision as chunks
      from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser
), idf as materialized (
    select t.analyser, veraz.dimension(t.term) as dimension,
           t.weight * ln(1 + (s.chunks - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
      from veraz.query_terms(%(question)s::text, %(analyser)s::text) t
      join size s using (analyser)
     cross join lateral (
            select sum(n) as chunks from veraz.posting
             where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p
     where p.chunks > 0
), question_vector as materialized (
    select analyser, ('{{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}}/1000000000')::sparsevec as vec
      from (select analyser, dimension, sum(idf) as idf from idf group by 1, 2) d group by analyser
), lexical as (
    select p.chunk_id, -(p.bm25 <#> q.vec) as score, p.authority, p.revised_at
      from permitted p join question_vector q using (analyser)
     order by score desc, p.chunk_id
     limit %(pool)s
), semantic as (
    select p.chunk_id, {score} as score, p.authority, p.revised_at
      from permitted p
     cross join lateral (
            select (e.vec {operator} %(vector)s::halfvec) + 0 as distance from {embedding} e
             where e.tenant_id = veraz.current_tenant() and e.chunk_id = p.chunk_id and e.is_current
               and %(vector)s::halfvec is not null offset 0) v
     order by v.distance, p.chunk_id
     limit %(pool)s
)
select 'lexical' as arm, chunk_id, score, authority, revised_at from lexical
union all
select 'semantic', chunk_id, score, authority, revised_at from semantic
 order by arm, score desc, chunk_id
