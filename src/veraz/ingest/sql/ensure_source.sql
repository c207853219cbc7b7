-- Purpose: the source that documents go to, made or updated. One row. Index: source_pkey: the id follows from
-- the slug, and the key is checked before the slug, so that two first ingests at once meet here and not in an error.
insert into veraz.source (tenant_id, source_id, slug, name, license, jurisdiction, authority, base_url)
values (veraz.current_tenant(), %(source_id)s, %(slug)s, coalesce(%(name)s, %(slug)s), %(license)s, %(jurisdiction)s,
        coalesce(%(authority)s, 3), %(base_url)s)
on conflict (tenant_id, source_id) do update
   set name = coalesce(%(name)s, source.name), license = coalesce(%(license)s, source.license),
       jurisdiction = coalesce(%(jurisdiction)s, source.jurisdiction), authority = coalesce(%(authority)s, source.authority),
       base_url = coalesce(%(base_url)s, source.base_url)
returning source_id, name
