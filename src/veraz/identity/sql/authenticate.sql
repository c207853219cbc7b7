-- Purpose: whose credential this is: the sha256 of a key, or the tenant that a verified token names. At most one row.
-- Index: api_key_key_hash_key, tenant_slug_key.
select tenant_id, slug, roles, may_write, key_id from veraz.authenticate(%(key_digest)s, %(tenant)s)
