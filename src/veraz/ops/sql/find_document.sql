-- Purpose: documents of an external id that the caller may read, in every source. One row per source. Index: document unique key.
select d.document_id, d.external_id, s.slug as source, s.name as source_name, s.authority, d.document_type, d.acl, d.acl_rule, d.owner, d.readable_from,
       d.readable_until, d.current_revision_id,
       (select o.external_id from veraz.document o
         where o.tenant_id = d.tenant_id and o.document_id = d.superseded_by
           and o.deleted_at is null and veraz.may_read(o.acl, o.acl_rule, o.owner, o.readable_from, o.readable_until)) as superseded_by,
       d.superseded_at, d.superseded_from, d.supersession_pinned, d.purged_number,
       array(select o.external_id from veraz.document o
              where o.tenant_id = d.tenant_id and o.superseded_by = d.document_id
                and o.deleted_at is null and veraz.may_read(o.acl, o.acl_rule, o.owner, o.readable_from, o.readable_until) order by 1) as supersedes
  from veraz.source s join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id
 where s.tenant_id = veraz.current_tenant() and d.external_id = %(external_id)s and (%(source)s::text is null or s.slug = %(source)s)
   and d.deleted_at is null and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
 order by s.slug
