-- Purpose: ids like one that was not found, of documents that the caller may read. At most three rows, the most alike first. Reads every
-- document of the tenant that may be read.
select s.slug as source, d.external_id
  from veraz.document d join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
 where d.tenant_id = veraz.current_tenant() and d.deleted_at is null
   and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
   and similarity(d.external_id, %(external_id)s) >= 0.4
 order by similarity(d.external_id, %(external_id)s) desc, s.slug, d.external_id
 limit 3
