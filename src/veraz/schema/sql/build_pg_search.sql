-- Purpose: the index of pg_search over the current chunks of all tenants: a table can have one alone. As the owner. What names the key is
-- deprecated in newer releases, and ignored by them. Written for pg_search 0.27; not run against it.
create index {index} on veraz.chunk
 using paradedb (chunk_id, tenant_id, is_current, ((header || E'\n\n' || context || E'\n\n' || coalesce(embedded, display))::pdb.icu('alias=text')))
  with (key_field = 'chunk_id')
 where is_current
