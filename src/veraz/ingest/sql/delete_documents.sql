-- Purpose: hide documents of one source from the next query on, if what was current when they were listed still is. One row per document
-- that was hidden. Index: document (tenant, source, external id); revision_pkey.
update veraz.document d set deleted_at = now()
  from unnest(%(external_ids)s::text[], %(raw_hashes)s::bytea[]) as listed (external_id, raw_hash)
 where d.tenant_id = veraz.current_tenant() and d.source_id = %(source_id)s and d.external_id = listed.external_id and d.deleted_at is null
   and (select r.raw_hash from veraz.revision r
         where r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id) is not distinct from listed.raw_hash
returning d.external_id
