-- Purpose: refuse a key of this tenant from now on; an earlier revocation stays. At most one row. Index: api_key_prefix.
update veraz.api_key k set revoked_at = coalesce(revoked_at, now())
 where tenant_id = veraz.current_tenant() and prefix = %(prefix)s
returning prefix, name, (select slug from veraz.tenant t where t.tenant_id = k.tenant_id), roles, may_write,
       case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end,
       created_at, expires_at, last_used_at, revoked_at
