-- Purpose: the text of revisions of documents that the caller may read; number 0 asks for the current one. One row per revision that
-- there is. Index: source (tenant, slug), document (tenant, source, external id), revision (tenant, document, number), once per key.
select s.slug, d.external_id, wanted.number as wanted, r.number, r.text
  from unnest(%(sources)s::text[], %(external_ids)s::text[], %(revisions)s::integer[]) as wanted (source, external_id, number)
  join veraz.source s on s.tenant_id = veraz.current_tenant() and s.slug = wanted.source
 cross join lateral (
        select document_id, external_id, current_revision_id from veraz.document
         where tenant_id = veraz.current_tenant() and source_id = s.source_id and external_id = wanted.external_id
           and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
 cross join lateral (
        select number, text from veraz.revision
         where tenant_id = veraz.current_tenant() and document_id = d.document_id
           and case when wanted.number = 0 then revision_id = d.current_revision_id else number = wanted.number end offset 0) r
