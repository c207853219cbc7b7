-- Purpose: the semantic arm over an index of signs. The `candidates` whose signs are most like the question's, filters and permissions
-- inside the scan, are scored again by their vectors.
-- Rows: at most `pool`, best first; `seen`: how many candidates the scan found, fewer than asked where it gave up.
-- Scores: by the space's distance, higher is better. `condition`: see lexical.sql. The `+ 0` keeps the sort in the plan.
-- Index: embedding_<n>_binary (is_current stays literal: the index is partial),
-- then document_pkey, revision_pkey, source_pkey per candidate.
with condition as materialized (
    select analyser, veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) as wanted
      from veraz.lexical_epoch where tenant_id = veraz.current_tenant() and %(condition)s::jsonb is not null
), candidate as materialized (
    select e.chunk_id, (e.vec {operator} %(vector)s::halfvec) + 0 as distance, p.authority, p.revised_at
      from {embedding} e
     cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                             %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                             %(published_from)s::date, %(published_to)s::date) p
     where e.is_current and e.tenant_id = veraz.current_tenant()
       and (%(condition)s::jsonb is null or exists (
            select from veraz.chunk_lexical l
             where l.tenant_id = veraz.current_tenant() and l.chunk_id = e.chunk_id
               and coalesce(l.tsv @@ (select wanted from condition k where k.analyser = l.analyser), true) offset 0)) {conditions}
     order by binary_quantize(e.vec)::bit({dimension}) <~> binary_quantize(%(vector)s::halfvec)::bit({dimension})
     limit %(candidates)s
)
select chunk_id, {score} as score, authority, revised_at, (select count(*)::integer from candidate) as seen
  from candidate
 order by distance, chunk_id
 limit %(pool)s
