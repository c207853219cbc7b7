-- The one function that runs with rights of its own (those of veraz_auth, which can read keys and tenants and nothing else).
-- Takes the sha256 of a key, so that no statement log ever holds one; or the slug or id of the tenant that a verified token names.
-- At most one row; none for a key that is unknown, expired or revoked, and for a tenant that is unknown or disabled.

create or replace function veraz.authenticate(key_digest bytea, tenant_name text)
returns table (tenant_id uuid, slug text, roles text[], may_write boolean, key_id uuid)
language plpgsql volatile parallel unsafe security definer set search_path = pg_catalog, pg_temp as $$
begin
    return query
    select t.tenant_id, t.slug, k.roles, coalesce(k.may_write, false), k.key_id
      from veraz.tenant t
      left join veraz.api_key k on k.tenant_id = t.tenant_id and k.key_hash = key_digest
     where t.disabled_at is null
       and case when key_digest is not null
                then k.revoked_at is null and k.key_id is not null and (k.expires_at is null or k.expires_at > now())
                     and t.tenant_id = (select a.tenant_id from veraz.api_key a where a.key_hash = key_digest)
                else t.slug = tenant_name or t.tenant_id::text = lower(tenant_name) end;
    if found and key_digest is not null and current_setting('transaction_read_only') = 'off' then
        -- once a minute is enough, and requests of one key must not wait for each other
        update veraz.api_key a set last_used_at = now()
         where a.ctid = any (array(select k.ctid from veraz.api_key k
                                    where k.key_hash = key_digest and (k.last_used_at is null or k.last_used_at < now() - interval '1 minute')
                                      for update skip locked));
    end if;
end $$;

revoke all on function veraz.authenticate(bytea, text) from public;
grant execute on function veraz.authenticate(bytea, text) to veraz_app;
