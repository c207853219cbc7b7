-- Purpose: stored runs, newest first, of all datasets or of one. One row a run. Index: eval_run_recent.
select run_id::text, dataset, created_at as started_at, coalesce(config->>'mode', '') as mode, queries, metrics, fingerprint
  from veraz.eval_run
 where tenant_id = veraz.current_tenant() and roles <@ veraz.current_roles()
   and (%(dataset)s::text is null or dataset = %(dataset)s)
 order by created_at desc, run_id limit %(top)s
