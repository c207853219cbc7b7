-- Purpose: the semantic arm over signs: `candidates` by Hamming distance, filters and permissions inside the scan, scored again exactly.
-- Rows: at most `pool`, best first. Scores: by the space's distance, higher is better.
with candidate as materialized (
    select e.chunk_id, e.vec
      from {copy} e
     cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                             %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                             %(published_from)s::date, %(published_to)s::date) p
     where e.tenant_id = veraz.current_tenant() {conditions}
     order by e.{column} <~> %(signs)s::bit({dimension})
     limit %(candidates)s
)
select chunk_id, {score} as score
  from (select chunk_id, vec {operator} %(vector)s::halfvec as distance from candidate) c
 order by score desc, chunk_id
 limit %(pool)s
