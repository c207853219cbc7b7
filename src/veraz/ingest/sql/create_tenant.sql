-- Purpose: make a tenant unless it exists. At most one row: its id.
insert into veraz.tenant (slug) values (%(slug)s) on conflict (slug) do nothing returning tenant_id
