-- Purpose: remove a batch of old evaluation runs with their queries. One row a run. Index: eval_run_recent.
delete from veraz.eval_run
 where tenant_id = veraz.current_tenant()
   and run_id = any (array(select run_id from veraz.eval_run
                            where tenant_id = veraz.current_tenant() and created_at < now() - make_interval(days => %(run_days)s)
                            order by created_at limit %(batch)s for update skip locked))
returning 1
