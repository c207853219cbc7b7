-- Purpose: how long the tenant keeps what is no longer current. One row; null: for ever.
select (settings->>'history_days')::integer, (settings->>'history_revisions')::integer, (settings->>'deleted_days')::integer,
       (settings->>'trace_days')::integer
  from veraz.tenant where tenant_id = veraz.current_tenant()
