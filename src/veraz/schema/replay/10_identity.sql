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

-- The one definition of who may read a document. The policy of document uses it, and so does every query that reads one.
create or replace function veraz.may_read(acl text[], acl_rule text, owner text, readable_from timestamptz, readable_until timestamptz)
returns boolean language sql stable parallel safe
return (owner is not null and owner = any (veraz.current_roles()))
    or (case acl_rule when 'any' then acl && veraz.current_roles() when 'all' then acl <@ veraz.current_roles() else false end
        and (readable_from is null or readable_from <= now()) and (readable_until is null or now() < readable_until));

comment on function veraz.may_read(text[], text, text, timestamptz, timestamptz) is
    'labels by the document''s rule inside its time window; the owner''s label always';

-- Every transaction of a tenant calls it as it begins, so that disabling one counts from the next transaction on, also for those who
-- identified themselves before. SQLSTATE VZ001 is known to db/session.py.
create or replace function veraz.refuse_disabled(of_tenant uuid) returns void
language plpgsql volatile as $$
begin
    if not exists (select from veraz.tenant where tenant_id = of_tenant and disabled_at is null) then
        raise exception 'the tenant is disabled, or was removed' using errcode = 'VZ001';
    end if;
end $$;
