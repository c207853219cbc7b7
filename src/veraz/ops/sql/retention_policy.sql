-- Purpose: how long the tenant keeps what is no longer current. One row; null: for ever.
select (settings->>'history_days')::integer as history_days, (settings->>'history_revisions')::integer as history_revisions, (settings->>'deleted_days')::integer as deleted_days,
       (settings->>'trace_days')::integer as trace_days, (settings->>'run_days')::integer as run_days,
       (settings->>'recall_days')::integer as recall_days
  from veraz.tenant where tenant_id = veraz.current_tenant()
