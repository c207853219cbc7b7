-- Purpose: the sampled recall of the tenant, a row per day (UTC) and arm; a row without an arm counts what was dropped that day.
-- `mean` and `worst` are of the samples that approximated; null where every one had read everything. Index: recall_sample_recent.
select (measured_at at time zone 'UTC')::date as day, arm, count(arm)::integer as samples,
       count(*) filter (where approximated)::integer as approximated,
       avg(found::double precision / expected) filter (where approximated) as mean,
       min(found::double precision / expected) filter (where approximated) as worst,
       avg(exact_ms) filter (where approximated) as exact_ms, sum(dropped)::integer as dropped
  from veraz.recall_sample
 where tenant_id = veraz.current_tenant() and measured_at >= %(since)s::timestamptz
 group by 1, 2
 order by 1, 2
