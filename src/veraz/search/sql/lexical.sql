-- Purpose: the lexical arm. BM25 over the posting blocks of the question's terms, filters and permissions inside.
-- Rows: at most `pool`, best first. Scores: BM25, higher is better, recomputed from the document vectors.
-- Index: posting_pkey (tenant, analyser, term), then chunk_lexical_pkey, document_pkey, revision_pkey, source_pkey per candidate.
-- Exact while the question's postings fit `budget`; above it the blocks that can add most are read first, and `is_exact` says so; if few
-- of what they hold is permitted, lexical_permitted.sql repairs it.
-- `condition`: what marks in the question demand of a chunk, null for nothing; what does not meet it is no candidate.
-- `rescored` permitted candidates are scored again: they are walked in falling order until that many may be read.
with term as materialized (
    select analyser, term, weight from veraz.query_terms(%(question)s, %(analyser)s)
), entry as materialized (
    select t.analyser, t.term, t.weight, p.block, p.n, p.chunk_nos, p.impacts
      from term t
     cross join lateral (
            select block, n, chunk_nos, impacts from veraz.posting
             where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p
), size as materialized (
    select analyser, sum(chunks)::double precision as chunks
      from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser
), idf as materialized (
    select e.analyser, e.term, veraz.dimension(e.term) as dimension,
           min(e.weight) * ln(1 + (s.chunks - sum(e.n) + 0.5) / (sum(e.n) + 0.5)) as idf
      from entry e join size s using (analyser)
     group by e.analyser, e.term, s.chunks
    having sum(e.n) > 0
), ordered as (
    select e.*, i.idf,
           sum(abs(e.n)) over (order by e.block < 0 desc, i.idf * e.impacts[1] desc, e.term, e.block) - abs(e.n) as before
      from entry e join idf i using (analyser, term) where e.n > 0
), matched as materialized (
    select u.chunk_no, sum(o.idf * u.impact) as approximate
      from ordered o, unnest(o.chunk_nos, o.impacts) as u (chunk_no, impact)
     where o.before < %(budget)s
     group by u.chunk_no
), question_vector as materialized (
    select analyser, ('{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}/1000000000')::sparsevec as vec
      from (select analyser, dimension, sum(idf) as idf from idf group by 1, 2) d group by analyser
), condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
), permitted as materialized (
    select l.chunk_id, l.analyser, l.bm25, p.authority, p.revised_at
      from (select chunk_no, approximate from matched order by approximate desc, chunk_no) m
     cross join lateral (
            select chunk_id, document_id, analyser, bm25 from veraz.chunk_lexical c
             where c.tenant_id = veraz.current_tenant() and c.chunk_no = m.chunk_no and c.is_current
               and (%(condition)s::jsonb is null
                   or coalesce(c.tsv @@ (select wanted from condition k where k.analyser = c.analyser), true)) offset 0) l
     cross join lateral veraz.eligible(l.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                             %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                             %(published_from)s::date, %(published_to)s::date) p
     limit %(rescored)s
)
select p.chunk_id, -((p.bm25 <#> q.vec) + 0) as score, p.authority, p.revised_at,
       (select coalesce(sum(abs(n)), 0) from entry) <= %(budget)s as is_exact
  from permitted p join question_vector q using (analyser)
 order by score desc, p.chunk_id
 limit %(pool)s
