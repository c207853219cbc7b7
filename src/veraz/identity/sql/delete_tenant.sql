-- Purpose: the tenant itself, once nothing of it is left. At most one row. Index: tenant_pkey.
delete from veraz.tenant where tenant_id = %(tenant_id)s and disabled_at is not null returning tenant_id
