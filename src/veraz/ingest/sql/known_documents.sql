-- Purpose: what is stored of these documents, to skip the unchanged. One row per known id. Index: document (tenant, source, external id).
select d.external_id, d.document_id, d.current_revision_id, d.deleted_at is not null as deleted, d.acl, r.raw_hash,
       (select max(number) from veraz.revision a where a.tenant_id = d.tenant_id and a.document_id = d.document_id) as number
  from veraz.document d
  left join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
 where d.tenant_id = veraz.current_tenant() and d.source_id = %(source_id)s and d.external_id = any (%(external_ids)s)
