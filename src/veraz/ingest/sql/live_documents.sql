-- Purpose: the documents of a source that a reader could find, to tell which are gone upstream. One row each, of the whole source.
-- Index: document (tenant, source, external id); revision_pkey.
select d.external_id, r.raw_hash, r.bytes_hash, d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until
  from veraz.document d
  left join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
 where d.tenant_id = veraz.current_tenant() and d.source_id = %(source_id)s and d.deleted_at is null
