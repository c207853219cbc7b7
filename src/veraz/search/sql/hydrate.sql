-- Purpose: everything that a hit shows, for the ids that survived fusion. One row per id still readable. Index: chunk_pkey.
select c.chunk_id, c.ord, c.kind, c.heading_path, c.page, c.start_at, c.end_at, c.display, c.spans, c.token_count, c.is_current,
       d.document_id, d.external_id, s.slug, s.name, s.authority, coalesce(r.license, s.license), coalesce(r.jurisdiction, s.jurisdiction),
       r.revision_id, r.number, r.title, r.url, r.lang, r.publisher, r.published_at, r.revised_at,
       (select o.external_id from veraz.document o where o.tenant_id = d.tenant_id and o.document_id = d.superseded_by) as superseded_by
  from veraz.chunk c
  join veraz.document d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
  join veraz.revision r on r.tenant_id = c.tenant_id and r.revision_id = c.revision_id
  join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
 where c.tenant_id = veraz.current_tenant() and c.chunk_id = any (%(chunk_ids)s)
   and d.deleted_at is null and d.acl && veraz.current_roles()
