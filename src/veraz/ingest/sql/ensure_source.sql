-- Purpose: the source that documents go to, made or updated. One row. Index: source_pkey: the id follows from the slug.
-- The lock lets two first ingests at once pass one after the other: without it the second may meet the first in the slug's unique
-- index after it has looked into that of the key, and that is an error.
with locked as materialized (
    select pg_advisory_xact_lock(hashtextextended('source ' || %(source_id)s::uuid::text, 0))
)
insert into veraz.source (tenant_id, source_id, slug, name, license, jurisdiction, authority, base_url, chunker)
select veraz.current_tenant(), %(source_id)s::uuid, %(slug)s::text, coalesce(%(name)s::text, %(slug)s::text), %(license)s::text,
       %(jurisdiction)s::text, coalesce(%(authority)s::smallint, 3), %(base_url)s::text, %(chunker)s::text
  from locked
on conflict (tenant_id, source_id) do update
   set name = coalesce(%(name)s::text, source.name), license = coalesce(%(license)s::text, source.license),
       jurisdiction = coalesce(%(jurisdiction)s::text, source.jurisdiction),
       authority = coalesce(%(authority)s::smallint, source.authority), base_url = coalesce(%(base_url)s::text, source.base_url),
       chunker = coalesce(%(chunker)s::text, source.chunker)
returning source_id, name, chunker
