-- Purpose: what a policy lets go now: revisions, deleted documents, traces, evaluation runs, samples of recall. One row. Reads the revisions and documents of the tenant.
select (select count(*) from veraz.expired_revisions(%(history_days)s, %(history_revisions)s, '00000000-0000-0000-0000-000000000000')) as revisions,
       (select count(*) from veraz.expired_documents(%(deleted_days)s)) as documents,
       (select count(*) from veraz.trace
         where tenant_id = veraz.current_tenant() and created_at < now() - make_interval(days => %(trace_days)s)) as traces,
       (select count(*) from veraz.eval_run
         where tenant_id = veraz.current_tenant() and created_at < now() - make_interval(days => %(run_days)s)) as runs,
       (select count(*) from veraz.recall_sample
         where tenant_id = veraz.current_tenant() and measured_at < now() - make_interval(days => %(recall_days)s)) as recall_samples
