-- Purpose: the documents that an expected id may mean, deleted or not, for those who may know of them: all for the operator
-- (`knows_all`), and for others what they could read were it not deleted. In mode "write", which alone sees deleted rows. One row per
-- source and id. Index: document unique key.
select d.document_id, d.external_id, s.slug as source, s.authority, s.license, s.jurisdiction, d.deleted_at, d.erased_at,
       d.current_revision_id, d.superseded_by is not null as is_superseded, d.superseded_from, d.supersession_pinned,
       (select o.external_id from veraz.document o
         where o.tenant_id = d.tenant_id and o.document_id = d.superseded_by
           and (%(knows_all)s or veraz.may_read(o.acl, o.acl_rule, o.owner, o.readable_from, o.readable_until))) as superseded_by,
       d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until,
       veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until) as may_read
  from veraz.source s join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id
 where s.tenant_id = veraz.current_tenant() and d.external_id = any (%(external_ids)s) and (%(source)s::text is null or s.slug = %(source)s)
   and (%(knows_all)s or veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until))
 order by s.slug, d.external_id
