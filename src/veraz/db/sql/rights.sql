-- Purpose: what the login of this connection may do beyond serving, its memberships included. One row.
with reachable as (
    select r.* from pg_roles r where pg_has_role(session_user, r.oid, 'member')
)
select session_user::text,
       array(select distinct p.power from reachable, lateral (values (rolsuper, 'SUPERUSER'), (rolbypassrls, 'BYPASSRLS'),
                    (rolcreaterole, 'CREATEROLE'), (rolreplication, 'REPLICATION')) p (held, power) where p.held order by 1),
       array(select rolname::text from reachable
              where rolname in ('veraz_owner', 'veraz_ops', 'veraz_auth', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
              order by 1),
       array(select o.name from (
             select 'schema ' || nspname as name, nspowner as owner from pg_namespace where nspname = 'veraz'
             union all select relname::text, relowner from pg_class where relnamespace = to_regnamespace('veraz') and relkind not in ('i', 'I')
             union all select proname::text || '()', proowner from pg_proc where pronamespace = to_regnamespace('veraz')) o
              where o.owner in (select oid from reachable) order by 1 limit 3),
       exists (select from reachable where rolname = 'veraz_app')
