-- Purpose: the lexical arm without the inverted file's chunk lists: every current document vector that may be read and meets the filters is
-- scored. Repairs a shortfall: where the postings of a question exceed the budget and few of those that were read are permitted.
-- Rows: at most `pool`, best first. Scores: BM25, equal to those of lexical.sql. Exact.
-- Index: the tenant prefix of document, revision and chunk_lexical, each once, by sets as in as_of.sql: looking up the document of every
-- matching chunk would cost most exactly where nearly none is permitted.
with permitted as materialized (
    select p.document_id, p.authority, p.revised_at
      from veraz.eligible_documents(%(sources)s::text[], %(langs)s::text[], %(authority)s::integer, %(licenses)s::text[],
                                    %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date, %(published_from)s::date,
                                    %(published_to)s::date) p
     where true {documents}
), size as materialized (
    select analyser, sum(chunks)::double precision as chunks
      from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser
), idf as materialized (
    select t.analyser, veraz.dimension(t.term) as dimension,
           t.weight * ln(1 + (s.chunks - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
      from veraz.query_terms(%(question)s, %(analyser)s) t
      join size s using (analyser)
     cross join lateral (
            select sum(n) as chunks from veraz.posting
             where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p
     where p.chunks > 0
), question_vector as materialized (
    select analyser, ('{{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}}/1000000000')::sparsevec as vec
      from (select analyser, dimension, sum(idf) as idf from idf group by 1, 2) d group by analyser
), condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
), scored as (
    select x.chunk_id, x.document_id, x.score
      from question_vector q
     cross join lateral (
            select l.chunk_id, l.document_id, l.tsv, l.analyser, -(l.bm25 <#> q.vec) as score
              from veraz.chunk_lexical l
             where l.tenant_id = veraz.current_tenant() and l.analyser = q.analyser and l.is_current
               and coalesce(l.document_id in (select document_id from permitted), false) offset 0) x
     where x.score > 0
       and (%(condition)s::jsonb is null
            or coalesce(x.tsv @@ (select wanted from condition k where k.analyser = x.analyser), true))
     order by x.score desc, x.chunk_id
    offset 0
), best as (
    select e.chunk_id, e.document_id, e.score from scored e
     where true {chunks}
     order by e.score desc, e.chunk_id
     limit %(pool)s
)
select b.chunk_id, b.score, p.authority, p.revised_at
  from best b join permitted p using (document_id)
 order by b.score desc, b.chunk_id
