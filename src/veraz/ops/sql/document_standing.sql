-- Purpose: a document as its operator sees it, deleted or not. At most one row. Index: document (tenant, source, external id).
select d.document_id, d.external_id, s.slug, d.deleted_at, d.erased_at, d.current_revision_id is not null,
       (select o.external_id from veraz.document o where o.tenant_id = d.tenant_id and o.document_id = d.superseded_by), d.superseded_from,
       d.supersession_pinned, d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until
  from veraz.source s join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id
 where s.tenant_id = veraz.current_tenant() and s.slug = %(source)s and d.external_id = %(external_id)s
