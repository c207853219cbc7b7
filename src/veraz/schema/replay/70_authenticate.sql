-- The one function that runs with rights of its own (those of veraz_auth, which can read keys and tenants and nothing else).
-- Takes the sha256 of a key, so that no statement log ever holds one; or the slug or id of the tenant that a verified token names.
-- At most one row; none for a key that is unknown, expired or revoked, and for a tenant that is unknown or disabled.

create or replace function veraz.authenticate(key_digest bytea, tenant_name text)
returns table (tenant_id uuid, slug text, roles text[], may_write boolean, key_id uuid)
language plpgsql volatile parallel unsafe security definer set search_path = pg_catalog, pg_temp as $$
begin
    if key_digest is not null then
        return query
        select t.tenant_id, t.slug, k.roles, k.may_write, k.key_id
          from veraz.api_key k join veraz.tenant t on t.tenant_id = k.tenant_id
         where k.key_hash = key_digest and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
           and t.disabled_at is null;
        if found and current_setting('transaction_read_only') = 'off' then
            -- once a minute is enough, and requests of one key must not wait for each other
            update veraz.api_key a set last_used_at = now()
             where a.ctid = any (array(select k.ctid from veraz.api_key k
                                        where k.key_hash = key_digest and (k.last_used_at is null or k.last_used_at < now() - interval '1 minute')
                                          for update skip locked));
        end if;
    elsif tenant_name ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
        return query
        select t.tenant_id, t.slug, null::text[], false, null::uuid from veraz.tenant t
         where t.tenant_id = tenant_name::uuid and t.disabled_at is null;
    else
        return query
        select t.tenant_id, t.slug, null::text[], false, null::uuid from veraz.tenant t
         where t.slug = tenant_name and t.disabled_at is null;
    end if;
end $$;

revoke all on function veraz.authenticate(bytea, text) from public;
grant execute on function veraz.authenticate(bytea, text) to veraz_app;
