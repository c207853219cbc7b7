-- Purpose: of the candidates that another lexical engine gave, those that are current, may be read and meet the filters and the marks.
-- Rows: at most `pool`, best first by (score, chunk_id), and in each `known`: how many of the candidates the tenant has at all; one row
-- without a chunk where none may answer, none where the tenant has none. Scores: the engine's, as they were given; higher is better.
-- Index: chunk_lexical's key (tenant, chunk), then document_pkey, revision_pkey, source_pkey, once per candidate. `condition`: see lexical.sql.
with condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
), known as materialized (
    select g.chunk_id, g.score, l.document_id, l.analyser, l.tsv, l.is_current
      from unnest(%(chunk_ids)s::uuid[], %(scores)s::double precision[]) as g (chunk_id, score)
     cross join lateral (
            select document_id, analyser, tsv, is_current from veraz.chunk_lexical o
             where o.tenant_id = veraz.current_tenant() and o.chunk_id = g.chunk_id offset 0) l
), permitted as materialized (
    select e.chunk_id, e.score, p.authority, p.revised_at
      from known e
     cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                             %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                             %(published_from)s::date, %(published_to)s::date) p
     where e.is_current
       and (%(condition)s::jsonb is null
            or coalesce(e.tsv @@ (select wanted from condition k where k.analyser = e.analyser), true)) {conditions}
     order by e.score desc, e.chunk_id
     limit %(pool)s
)
select b.chunk_id, b.score, b.authority, b.revised_at, n.known
  from (select count(*)::integer as known from known) n left join permitted b on true
 where n.known > 0
 order by b.score desc, b.chunk_id
