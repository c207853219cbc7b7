-- Purpose: hide a document from the next query on. At most one row. Index: document (tenant, source, external id).
update veraz.document d set deleted_at = now()
  from veraz.source s
 where d.tenant_id = veraz.current_tenant() and s.tenant_id = d.tenant_id and s.source_id = d.source_id
   and s.slug = %(source)s and d.external_id = %(external_id)s and d.deleted_at is null
returning d.document_id
