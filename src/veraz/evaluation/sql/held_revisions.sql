-- Purpose: which revision of these documents a search of a day reads. One row per document that has one and that the caller may read.
-- Rights, tenant and deletions are asked by valid_revisions. Index: as there; then revision, document and source by key, once per revision that held.
select s.slug, d.external_id, r.number
  from veraz.valid_revisions(%(as_of)s::date, null, null, null, null, null, null, null, null, null) v
  join veraz.revision r on r.tenant_id = veraz.current_tenant() and r.revision_id = v.revision_id
  join veraz.document d on d.tenant_id = veraz.current_tenant() and d.document_id = r.document_id
  join veraz.source s on s.tenant_id = veraz.current_tenant() and s.source_id = d.source_id
 where (s.slug, d.external_id) in (select * from unnest(%(sources)s::text[], %(external_ids)s::text[]))
