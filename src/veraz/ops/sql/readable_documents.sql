-- Purpose: which of these documents the caller may read. Index: document (tenant, source, external id).
select d.external_id from veraz.document d join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
 where d.tenant_id = veraz.current_tenant() and d.external_id = any (%(external_ids)s) and d.deleted_at is null
   and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until) and (%(source)s::text is null or s.slug = %(source)s)
