-- Purpose: the semantic arm over the copy: the same as search/sql/semantic.sql, whichever index the copy has.
-- Rows: at most `pool`; the caller orders them. Scores: by the space's distance, higher is better.
select chunk_id, {score} as score
  from (select e.chunk_id, e.vec {operator} %(vector)s::halfvec as distance
          from {copy} e
         cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                                 %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                                 %(published_from)s::date, %(published_to)s::date) p
         where e.tenant_id = veraz.current_tenant() {conditions}
         order by e.vec {operator} %(vector)s::halfvec
         limit %(pool)s) e
