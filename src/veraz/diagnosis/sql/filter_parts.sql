-- Purpose: which conditions of a filter expression each chunk of a document meets that the caller was just shown, and what it has. One row
-- per chunk. In mode "write", for a document that may be deleted. Index: chunk_pkey, revision_pkey, document_pkey, source_pkey per chunk.
select c.chunk_id, array[{parts}]::boolean[] as met,
       to_jsonb(p) || jsonb_build_object('document', p.external_id, 'type', p.document_type, 'labels', p.acl, 'heading', c.heading_path,
                                         'kind', c.kind) as has
  from veraz.chunk c
 cross join lateral (
        select s.slug as source, s.authority, coalesce(r.license, s.license) as license, coalesce(r.jurisdiction, s.jurisdiction) as jurisdiction,
               d.external_id, d.document_type, d.acl, r.title, r.lang, r.publisher, r.url, r.item, r.edition, r.published_at, r.revised_at,
               r.valid_from, r.valid_to, r.meta
          from veraz.revision r
          join veraz.document d on d.tenant_id = r.tenant_id and d.document_id = r.document_id
          join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
         where r.tenant_id = veraz.current_tenant() and r.revision_id = c.revision_id offset 0) p
 where c.tenant_id = veraz.current_tenant() and c.chunk_id = any (%(chunk_ids)s::uuid[])
