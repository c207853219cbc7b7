-- Purpose: remove a batch of old traces. One row per trace. Index: trace_recent.
delete from veraz.trace
 where tenant_id = veraz.current_tenant()
   and trace_id = any (array(select trace_id from veraz.trace
                              where tenant_id = veraz.current_tenant() and created_at < now() - make_interval(days => %(trace_days)s)
                              order by created_at limit %(batch)s for update skip locked))
returning 1
