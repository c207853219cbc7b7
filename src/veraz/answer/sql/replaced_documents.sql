-- Purpose: documents that the cited ones replaced, to name the change. One row per replaced document. Index: revision of the pointer.
select o.external_id, s.slug, r.title, r.revised_at, n.external_id, nr.title, nr.url
  from veraz.document o
  join veraz.source s on s.tenant_id = o.tenant_id and s.source_id = o.source_id
  join veraz.revision r on r.tenant_id = o.tenant_id and r.revision_id = o.current_revision_id
  join veraz.document n on n.tenant_id = o.tenant_id and n.document_id = o.superseded_by
  join veraz.revision nr on nr.tenant_id = n.tenant_id and nr.revision_id = n.current_revision_id
 where o.tenant_id = veraz.current_tenant() and o.superseded_by = any (%(document_ids)s)
   and o.deleted_at is null and veraz.may_read(o.acl, o.acl_rule, o.owner, o.readable_from, o.readable_until)
   and n.deleted_at is null and veraz.may_read(n.acl, n.acl_rule, n.owner, n.readable_from, n.readable_until)
 order by r.revised_at desc nulls last, o.external_id
