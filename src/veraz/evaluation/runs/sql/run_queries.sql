-- Purpose: the queries of a stored run, in the order of their suite. One row a query. Index: eval_query_pkey.
select query_id, question, outcome, measures, documents, scores, grades, missed, facets, timings_ms, latency_ms, empty_arms, shortfall, error
  from veraz.eval_query
 where tenant_id = veraz.current_tenant() and run_id = %(run_id)s and roles <@ veraz.current_roles()
 order by ord
