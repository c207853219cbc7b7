-- Purpose: make a tenant unless one of that slug exists. At most one row: its id. Index: tenant_slug_key.
insert into veraz.tenant (slug, name) values (%(slug)s, %(name)s) on conflict (slug) do nothing returning tenant_id
