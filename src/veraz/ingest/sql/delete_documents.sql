-- Purpose: hide documents of one source from the next query on. One row per document that was there.
-- Index: document (tenant, source, external id).
update veraz.document set deleted_at = now()
 where tenant_id = veraz.current_tenant() and source_id = %(source_id)s and external_id = any (%(external_ids)s) and deleted_at is null
returning external_id
