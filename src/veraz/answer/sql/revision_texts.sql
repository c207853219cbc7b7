-- Purpose: the stored text of the revisions that evidence comes from. One row per revision that may be read. Index: revision_pkey.
select s.slug, d.external_id, r.number, r.text
  from veraz.revision r
  join veraz.document d on d.tenant_id = r.tenant_id and d.document_id = r.document_id
  join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
 where r.tenant_id = veraz.current_tenant() and r.revision_id = any (%(revision_ids)s)
   and d.deleted_at is null and d.acl && veraz.current_roles()
