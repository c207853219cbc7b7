-- Purpose: disable a tenant, or enable it again; the moment of an earlier disabling stays. At most one row. Index: tenant_slug_key.
update veraz.tenant set disabled_at = case when %(disabled)s then coalesce(disabled_at, now()) end
 where slug = %(slug)s returning tenant_id
