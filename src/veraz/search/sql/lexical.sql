-- Purpose: the lexical arm. BM25 over the posting blocks of the question's terms, filters and permissions inside.
-- Rows: at most `pool`, best first. Scores: BM25, higher is better, recomputed from the document vectors.
-- Index: posting_pkey (tenant, analyser, term), then chunk_lexical_pkey, document_pkey, revision_pkey, source_pkey per candidate.
-- Exact while the question's postings fit `budget`; above it the blocks that can add most are read first, and `is_exact` says so; if few
-- of what they hold is permitted, lexical_permitted.sql repairs it.
-- `condition`: what marks in the question demand of a chunk, null for nothing; what does not meet it is no candidate.
-- `bound`: what no chunk can score that was not scored here: the best impact of the first block of each term that was not read, and the last
-- sum that was scored again or the first that was not looked up, with what rounding of impacts may hide. Scores above it are proved to be the
-- best ones, budget or not.
-- `unseen`: the lexemes of words of which nothing that the caller may read holds any; the filters do not count. A word of which a thousand chunks
-- may not be read counts as one of those.
-- `rescored` permitted candidates are scored again: they are walked in falling order until that many may be read, and no further than
-- `walked`: a filter that the best matches do not meet would have every match looked up. Where every posting was read sums are wrong by
-- rounding alone, and a hundred more than the pool are enough: looking candidates up costs most of a search.
with term as materialized (
    select analyser, term, lexeme, weight, places from veraz.query_terms(%(question)s, %(analyser)s)
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
), reach as materialized (
    select case when coalesce(sum(abs(n)), 0) <= %(budget)s then least(%(rescored)s, %(pool)s::integer + 100) else %(rescored)s end as n
      from entry
), matched as materialized (
    select u.chunk_no, sum(o.idf * u.impact) as approximate
      from ordered o, unnest(o.chunk_nos, o.impacts) as u (chunk_no, impact)
     where o.before < %(budget)s
     group by u.chunk_no
), question_vector as materialized (
    select analyser, ('{{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}}/1000000000')::sparsevec as vec
      from (select analyser, dimension, sum(idf) as idf from idf group by 1, 2) d group by analyser
), condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
), permitted as materialized (
    select l.chunk_id, l.analyser, l.bm25, m.approximate, p.authority, p.revised_at
      from (select chunk_no, approximate from matched order by approximate desc, chunk_no limit %(walked)s) m
     cross join lateral (
            select chunk_id, document_id, analyser, bm25 from veraz.chunk_lexical c
             where c.tenant_id = veraz.current_tenant() and c.chunk_no = m.chunk_no and c.is_current
               and (%(condition)s::jsonb is null
                   or coalesce(c.tsv @@ (select wanted from condition k where k.analyser = c.analyser), true)) offset 0) l
     cross join lateral veraz.eligible(l.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                             %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                             %(published_from)s::date, %(published_to)s::date) p
     where true {conditions}
     limit (select n from reach)
), unread as materialized (
    select max(most) as most
      from (select analyser, sum(best) as most
              from (select analyser, term, max(best) as best
                      from (select e.analyser, e.term, i.idf * case when e.block < 0 then 32500 else e.impacts[1] end as best,
                                   sum(abs(e.n)) over (order by e.block < 0 desc, i.idf * e.impacts[1] desc, e.term, e.block) - abs(e.n)
                                   as before
                              from entry e join idf i using (analyser, term) where e.n > 0) o
                     where before >= %(budget)s group by 1, 2) t
             group by 1) a
     where (select sum(abs(n)) from entry) > %(budget)s
), bound as materialized (
    select (coalesce((select most from unread), 0)
            + case when count(*) >= (select n from reach) then min(approximate)
                   else coalesce((select approximate from matched order by approximate desc offset %(walked)s limit 1), 0) end
            + (select sum(idf) from idf)) / 13000 as most
      from permitted
), seen as materialized (
    select t.places
      from term t
     where exists (
            select from (select u.chunk_no
                           from entry e, unnest(e.chunk_nos) as u (chunk_no)
                          where e.analyser = t.analyser and e.term = t.term and e.n > 0
                          limit 1000) c
             cross join lateral (
                    select document_id from veraz.chunk_lexical l
                     where l.tenant_id = veraz.current_tenant() and l.chunk_no = c.chunk_no and l.is_current offset 0) l
             cross join lateral (
                    select from veraz.document d
                     where d.tenant_id = veraz.current_tenant() and d.document_id = l.document_id and d.deleted_at is null
                       and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until) offset 0) d)
), unseen as materialized (
    select array_agg(distinct t.lexeme) as lexemes
      from term t cross join lateral unnest(t.places) place
     where not exists (select from seen s where place = any (s.places))
)
select p.chunk_id, -((p.bm25 <#> q.vec) + 0) as score, p.authority, p.revised_at,
       (select coalesce(sum(abs(n)), 0) from entry) <= %(budget)s
       and ((select count(*) from permitted) >= (select n from reach) or (select count(*) from matched) <= %(walked)s) as is_exact,
       (select lexemes from unseen) as unseen, (select most from bound) as bound
  from permitted p join question_vector q using (analyser)
 order by score desc, p.chunk_id
 limit %(pool)s
