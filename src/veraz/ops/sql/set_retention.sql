-- Purpose: another policy; other settings of the tenant stay. As the maintenance role. No row. Index: tenant_pkey.
update veraz.tenant
   set settings = jsonb_strip_nulls(settings || jsonb_build_object(
       'history_days', %(history_days)s::integer, 'history_revisions', %(history_revisions)s::integer,
       'deleted_days', %(deleted_days)s::integer, 'trace_days', %(trace_days)s::integer,
       'run_days', %(run_days)s::integer, 'recall_days', %(recall_days)s::integer))
 where tenant_id = veraz.current_tenant()
