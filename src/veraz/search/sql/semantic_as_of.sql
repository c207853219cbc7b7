-- Purpose: the semantic arm over the revisions that held on a day. The approximate index knows current chunks only, so every vector of a
-- valid revision is compared: exact.
-- Rows: at most `pool`, best first. Scores: 1 - distance, higher is better. Index: revision (tenant), then the tenant
-- prefix of the embedding table's primary key, joined by revision.
with valid as materialized (
    select revision_id, authority, revised_at
      from veraz.valid_revisions(%(as_of)s::date, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer, %(licenses)s::text[],
                                 %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date, %(published_from)s::date,
                                 %(published_to)s::date)
)
select e.chunk_id, 1 - (e.vec <=> %(vector)s::halfvec) as score, v.authority, v.revised_at
  from valid v join {embedding} e on e.tenant_id = veraz.current_tenant() and e.revision_id = v.revision_id
 order by (e.vec <=> %(vector)s::halfvec) + 0, e.chunk_id
 limit %(pool)s
