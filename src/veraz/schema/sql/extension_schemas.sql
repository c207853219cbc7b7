-- Purpose: where the needed extensions stand. One row when all share a schema.
select distinct n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = any (%s)
