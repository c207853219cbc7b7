-- Purpose: the semantic arm. Nearest vectors of one space in the order of its index, a graph or clusters, filters and permissions inside the scan.
-- Rows: at most `pool`; the caller orders them (an iterative scan may yield them slightly out of order) and repairs a shortfall.
-- Scores: by the space's distance, higher is better. `condition`: see lexical.sql.
-- Index: embedding_<n>_hnsw or embedding_<n>_ivfflat (is_current stays literal: the index is partial),
-- then document_pkey, revision_pkey, source_pkey per candidate.
with condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
)
select chunk_id, {score} as score, authority, revised_at
  from (select e.chunk_id, e.vec {operator} %(vector)s::halfvec as distance, p.authority, p.revised_at
          from {embedding} e
         cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                                 %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                                 %(published_from)s::date, %(published_to)s::date) p
         where e.is_current and e.tenant_id = veraz.current_tenant()
           and (%(condition)s::jsonb is null or exists (
                select from veraz.chunk_lexical l
                 where l.tenant_id = veraz.current_tenant() and l.chunk_id = e.chunk_id
                   and coalesce(l.tsv @@ (select wanted from condition k where k.analyser = l.analyser), true) offset 0)) {conditions}
         order by e.vec {operator} %(vector)s::halfvec
         limit %(pool)s) e
