-- Purpose: the keys of the tenant of this transaction, newest first. One row a key. Index: api_key_pkey.
select prefix, name, (select slug from veraz.tenant t where t.tenant_id = k.tenant_id), roles, may_write,
       case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end,
       created_at, expires_at, last_used_at, revoked_at
  from veraz.api_key k where tenant_id = veraz.current_tenant() order by created_at desc, prefix
