-- Purpose: both arms over the revisions that held on a day. The inverted file and the approximate index hold current chunks only, so every
-- document vector and every vector of a valid revision is compared: exact. How rare a term is, is read from today's corpus; a term that
-- it does not hold counts as rarest. `question` null leaves the lexical arm out, `vector` null the semantic one.
-- Rows: at most `pool` an arm, best first. Scores: BM25; by the space's distance; higher is better.
-- Index: the tenant prefix of revision, document, chunk_lexical and the embedding table, each once, whatever the arms: whether a revision is
-- valid is a look-up in a hash, which `coalesce` keeps from becoming a join; authority and date are joined to the best alone.
with valid as materialized (
    select v.revision_id, v.authority, v.revised_at
      from veraz.valid_revisions(%(as_of)s::date, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer, %(licenses)s::text[],
                                 %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date, %(published_from)s::date,
                                 %(published_to)s::date) v
     where true {revisions}
), size as materialized (
    select analyser, greatest(sum(chunks), 1)::double precision as chunks
      from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser
), idf as materialized (
    select t.analyser, veraz.dimension(t.term) as dimension,
           t.weight * ln(1 + (greatest(s.chunks, p.chunks) - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
      from veraz.query_terms(%(question)s::text, %(analyser)s::text) t
      join size s using (analyser)
     cross join lateral (
            select greatest(coalesce(sum(n), 0), 0) as chunks from veraz.posting
             where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p
), question_vector as materialized (
    select analyser, ('{{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}}/1000000000')::sparsevec as vec
      from (select analyser, dimension, sum(idf) as idf from idf group by 1, 2) d group by analyser
), condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
), matched as (
    select x.chunk_id, x.revision_id, x.score
      from question_vector q
     cross join lateral (
            select l.chunk_id, l.revision_id, l.tsv, l.analyser, -(l.bm25 <#> q.vec) as score
              from veraz.chunk_lexical l
             where l.tenant_id = veraz.current_tenant() and l.analyser = q.analyser
               and coalesce(l.revision_id in (select revision_id from valid), false) offset 0) x
     where x.score > 0
       and (%(condition)s::jsonb is null
            or coalesce(x.tsv @@ (select wanted from condition k where k.analyser = x.analyser), true))
     order by x.score desc, x.chunk_id
    offset 0
), lexical as (
    select e.chunk_id, e.revision_id, e.score from matched e
     where true {chunks}
     order by e.score desc, e.chunk_id
     limit %(pool)s
), compared as (
    select e.chunk_id, e.revision_id, (e.vec {operator} %(vector)s::halfvec) + 0 as distance
      from {embedding} e
     where e.tenant_id = veraz.current_tenant() and %(vector)s::halfvec is not null
       and coalesce(e.revision_id in (select revision_id from valid), false)
       and (%(condition)s::jsonb is null or exists (
            select from veraz.chunk_lexical l join condition k using (analyser)
             where l.tenant_id = veraz.current_tenant() and l.chunk_id = e.chunk_id and coalesce(l.tsv @@ k.wanted, true) offset 0))
     order by distance, e.chunk_id
    offset 0
), semantic as (
    select e.chunk_id, e.revision_id, {score} as score from compared e
     where true {chunks}
     order by e.distance, e.chunk_id
     limit %(pool)s
)
select 'lexical' as arm, a.chunk_id, a.score, v.authority, v.revised_at from lexical a join valid v using (revision_id)
union all
select 'semantic', a.chunk_id, a.score, v.authority, v.revised_at from semantic a join valid v using (revision_id)
 order by arm, score desc, chunk_id
