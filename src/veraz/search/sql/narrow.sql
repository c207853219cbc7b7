-- Purpose: both arms over the documents that the caller may read and that meet the filters, where these are few: they are found first, and
-- whatever they hold is scored. `question` null leaves the lexical arm out, `vector` null the semantic one.
-- Rows: at most `pool` an arm, best first. Scores: BM25, equal to those of lexical.sql; by the space's distance; higher is better. Exact.
-- `condition`: see lexical.sql.
-- Index: the tenant prefix of document and revision, each once; then chunk_lexical_document and the embedding table's index of
-- documents, once per permitted document.
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
      from veraz.query_terms(%(question)s::text, %(analyser)s::text) t
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
), matched as (
    select l.chunk_id, l.score, p.authority, p.revised_at
      from question_vector q
     cross join permitted p
     cross join lateral (
            select i.chunk_id, i.tsv, i.analyser, -(i.bm25 <#> q.vec) as score
              from veraz.chunk_lexical i
             where i.tenant_id = veraz.current_tenant() and i.document_id = p.document_id and i.analyser = q.analyser
               and i.is_current offset 0) l
     where l.score > 0
       and (%(condition)s::jsonb is null
            or coalesce(l.tsv @@ (select wanted from condition k where k.analyser = l.analyser), true))
     order by l.score desc, l.chunk_id
    offset 0
), lexical as (
    select e.* from matched e
     where true {chunks}
     order by e.score desc, e.chunk_id
     limit %(pool)s
), compared as (
    select v.chunk_id, v.distance, p.authority, p.revised_at
      from permitted p
     cross join lateral (
            select i.chunk_id, (i.vec {operator} %(vector)s::halfvec) + 0 as distance
              from {embedding} i
             where i.tenant_id = veraz.current_tenant() and i.document_id = p.document_id and i.is_current offset 0) v
     where %(vector)s::halfvec is not null
       and (%(condition)s::jsonb is null or exists (
            select from veraz.chunk_lexical l
             where l.tenant_id = veraz.current_tenant() and l.chunk_id = v.chunk_id
               and coalesce(l.tsv @@ (select wanted from condition k where k.analyser = l.analyser), true) offset 0))
     order by v.distance, v.chunk_id
    offset 0
), semantic as (
    select e.chunk_id, {score} as score, e.authority, e.revised_at from compared e
     where true {chunks}
     order by e.distance, e.chunk_id
     limit %(pool)s
)
select 'lexical' as arm, chunk_id, score, authority, revised_at from lexical
union all
select 'semantic', chunk_id, score, authority, revised_at from semantic
 order by arm, score desc, chunk_id
