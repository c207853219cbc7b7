-- Purpose: store a key's hash in the tenant of this transaction. One row. Index: api_key_key_hash_key, api_key_prefix.
insert into veraz.api_key as k (tenant_id, prefix, key_hash, name, roles, may_write, expires_at)
values (veraz.current_tenant(), %(prefix)s, %(key_hash)s, %(name)s, %(roles)s, %(may_write)s, %(expires_at)s)
returning prefix, name, (select slug from veraz.tenant t where t.tenant_id = k.tenant_id), roles, may_write,
       case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end,
       created_at, expires_at, last_used_at, revoked_at
