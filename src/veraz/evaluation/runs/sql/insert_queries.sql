-- Purpose: keep queries of a run, in one statement for many.
insert into veraz.eval_query (tenant_id, run_id, roles, query_id, ord, question, outcome, measures, documents, scores, grades, missed, facets,
                              timings_ms, latency_ms, empty_arms, shortfall, error)
select veraz.current_tenant(), %(run_id)s, veraz.current_roles(), q.query_id, q.ord, q.question, q.outcome, q.measures, q.documents, q.scores,
       q.grades, q.missed, q.facets, q.timings_ms, q.latency_ms, q.empty_arms, q.shortfall, q.error
  from jsonb_to_recordset(%(rows)s::jsonb)
       as q (query_id text, ord integer, question text, outcome text, measures jsonb, documents text[], scores double precision[],
             grades integer[], missed jsonb, facets text[], timings_ms jsonb, latency_ms double precision, empty_arms text[],
             shortfall jsonb, error text)
