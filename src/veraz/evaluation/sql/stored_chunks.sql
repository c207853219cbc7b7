-- Purpose: the spans of every chunk that a search can return of revisions of documents; number 0 asks for the current one, and for what a
-- search of today returns of it. One row per chunk. Index: source (tenant, slug), document (tenant, source, external id), revision
-- (tenant, document, number), chunk (tenant, revision, ord), once per key.
select s.slug, d.external_id, c.spans
  from unnest(%(sources)s::text[], %(external_ids)s::text[], %(revisions)s::integer[]) as wanted (source, external_id, number)
  join veraz.source s on s.tenant_id = veraz.current_tenant() and s.slug = wanted.source
 cross join lateral (
        select document_id, external_id, current_revision_id from veraz.document
         where tenant_id = veraz.current_tenant() and source_id = s.source_id and external_id = wanted.external_id
           and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
 cross join lateral (
        select revision_id from veraz.revision
         where tenant_id = veraz.current_tenant() and document_id = d.document_id
           and case when wanted.number = 0 then revision_id = d.current_revision_id else number = wanted.number end offset 0) r
 cross join lateral (
        select ord, spans from veraz.chunk
         where tenant_id = veraz.current_tenant() and revision_id = r.revision_id and (is_current or wanted.number <> 0) offset 0) c
 order by s.slug, d.external_id, c.ord
