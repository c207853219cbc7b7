-- Purpose: the semantic arm without an approximate index: every vector of the tenant is compared. For --exact, for tenants with few
-- rows, and to repair a shortfall when the index gave fewer rows than asked.
-- Rows: at most `pool`, best first. Scores: by the space's distance, higher is better. Index: the tenant prefix of the primary key.
-- Filters and permissions are looked up in the order of distance, and only until `pool` rows passed: comparing is cheap, looking up
-- is not. `condition`: see lexical.sql. The order is said twice, so that it holds whatever the plan.
with condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
)
select e.chunk_id, {score} as score, p.authority, p.revised_at
  from (select chunk_id, document_id, (vec {operator} %(vector)s::halfvec) + 0 as distance
          from {embedding}
         where is_current and tenant_id = veraz.current_tenant()
         order by distance, chunk_id) e
 cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                         %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                         %(published_from)s::date, %(published_to)s::date) p
 where (%(condition)s::jsonb is null or exists (
        select from veraz.chunk_lexical l
         where l.tenant_id = veraz.current_tenant() and l.chunk_id = e.chunk_id
           and coalesce(l.tsv @@ (select wanted from condition k where k.analyser = l.analyser), true) offset 0)) {conditions}
 order by e.distance, e.chunk_id
 limit %(pool)s
