-- Purpose: remove a batch of old recall samples. One row per sample. Index: recall_sample_recent.
delete from veraz.recall_sample
 where tenant_id = veraz.current_tenant()
   and sample_id = any (array(select sample_id from veraz.recall_sample
                               where tenant_id = veraz.current_tenant() and measured_at < now() - make_interval(days => %(recall_days)s)
                               order by measured_at limit %(batch)s for update skip locked))
returning 1
