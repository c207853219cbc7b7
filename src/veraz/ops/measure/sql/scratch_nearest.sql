-- Purpose: the semantic arm over the copy: the same as search/sql/semantic.sql, whichever index the copy has.
-- Rows: at most `pool`; the caller orders them. Scores: 1 - distance, higher is better.
select e.chunk_id, 1 - (e.vec <=> %(vector)s::halfvec) as score
  from {copy} e
 cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                         %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                         %(published_from)s::date, %(published_to)s::date) p
 where e.tenant_id = veraz.current_tenant() {conditions}
 order by e.vec <=> %(vector)s::halfvec
 limit %(pool)s
