-- Purpose: the spans of every chunk that a search of today can return of these documents. One row per chunk.
-- Index: source (tenant, slug), document (tenant, source, external id), chunk (tenant, revision, ord), once per document.
select s.slug, d.external_id, c.spans
  from unnest(%(sources)s::text[], %(external_ids)s::text[]) as wanted (source, external_id)
  join veraz.source s on s.tenant_id = veraz.current_tenant() and s.slug = wanted.source
 cross join lateral (
        select external_id, current_revision_id from veraz.document
         where tenant_id = veraz.current_tenant() and source_id = s.source_id and external_id = wanted.external_id
           and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
 cross join lateral (
        select ord, spans from veraz.chunk
         where tenant_id = veraz.current_tenant() and revision_id = d.current_revision_id and is_current offset 0) c
 order by s.slug, d.external_id, c.ord
