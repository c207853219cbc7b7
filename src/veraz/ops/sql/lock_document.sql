-- Purpose: hold a document against ingests and other changes until the commit. One row where it exists. Index: document (tenant, source, external id).
select d.document_id, pg_advisory_xact_lock(hashtextextended('document ' || d.document_id::text, 0))
  from veraz.source s join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id
 where s.tenant_id = veraz.current_tenant() and s.slug = %(source)s and d.external_id = %(external_id)s
