-- Purpose: one stored run by its id or a unique beginning of it. At most two rows. Index: eval_run_pkey.
select run_id, dataset, created_at, fingerprint, queries, config, metrics, report from veraz.eval_run
 where tenant_id = veraz.current_tenant() and run_id between %(lowest)s and %(highest)s
   and roles <@ veraz.current_roles() limit 2
