-- Purpose: the semantic arm without an approximate index: every permitted vector is compared. For --exact, and to repair a
-- shortfall when the index gave fewer rows than asked.
-- Rows: at most `pool`, best first. Scores: 1 - distance, higher is better. Index: the tenant prefix of the primary key.
select e.chunk_id, 1 - (e.vec <=> %(vector)s::halfvec) as score, p.authority, p.revised_at
  from {embedding} e
 cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                         %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                         %(published_from)s::date, %(published_to)s::date) p
 where e.is_current and e.tenant_id = veraz.current_tenant()
 order by (e.vec <=> %(vector)s::halfvec) + 0, e.chunk_id
 limit %(pool)s
