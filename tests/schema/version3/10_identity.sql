-- Who acts, as db/session.py set it for this transaction. Unset gives no rows; malformed is an error before any row.

create or replace function veraz.current_tenant() returns uuid
language sql stable parallel safe
return nullif(current_setting('veraz.tenant_id', true), '')::uuid;

create or replace function veraz.current_roles() returns text[]
language sql stable parallel safe
return coalesce(nullif(current_setting('veraz.roles', true), '')::text[], '{}'::text[]);

comment on function veraz.current_roles() is 'access labels that this transaction may read; none when unset';

create or replace function veraz.is_writing() returns boolean
language sql stable parallel safe
return coalesce(current_setting('veraz.mode', true), '') = 'write';

comment on function veraz.is_writing() is
    'ingest and maintenance see every label and deleted documents of their own tenant; readers never do';
