-- Purpose: the best chunks of one tenant and language by pg_textsearch. Candidates: ../../sql/engine_permitted.sql looks at each of them.
-- Rows: at most `depth`, best first. Scores: BM25 of that index, higher is better (the operator gives them negative); 0 or less: no match.
-- Index: the partial index that `index` names, which is built over the same expression with the same predicate (schema/sql/build_pg_textsearch.sql).
-- Tenant and language are literals, or the planner could not match that predicate. One table alone, and no limit above a join.
-- Written for pg_textsearch 1.5; not run against it.
select c.chunk_id,
       -((c.header || E'\n\n' || c.context || E'\n\n' || coalesce(c.embedded, c.display))
         operator({schema}.<@>) {schema}.to_bm25query(%(question)s::text, {index})) as score
  from veraz.chunk c
 where c.tenant_id = {tenant}::uuid and c.is_current and (c.lang = any ({langs})) = {listed}
 order by (c.header || E'\n\n' || c.context || E'\n\n' || coalesce(c.embedded, c.display))
          operator({schema}.<@>) {schema}.to_bm25query(%(question)s::text, {index})
 limit %(depth)s
