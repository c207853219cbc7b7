-- Purpose: the tenant that a slug names. At most one row. Index: tenant_slug_key.
select tenant_id from veraz.tenant where slug = %(slug)s
