-- Purpose: the stored text of the revisions that evidence comes from, where their pages begin, and which of these were recognised by
-- OCR: what other media state under that name is theirs. One row per revision that may be read.
-- Index: revision_pkey, document_pkey, source_pkey, once per id (see search/sql/hydrate.sql).
select s.slug, d.external_id, r.number, r.text, r.page_starts,
       case when r.media = 'pdf'
            then jsonb_path_query_array(r.meta, '$.recognised.pages[*] ? (@.type() == "number")', '{}', true)
            else '[]' end
  from unnest(%(revision_ids)s::uuid[]) as wanted (revision_id)
 cross join lateral (
        select document_id, number, text, page_starts, media, meta from veraz.revision
         where tenant_id = veraz.current_tenant() and revision_id = wanted.revision_id offset 0) r
 cross join lateral (
        select external_id, source_id from veraz.document
         where tenant_id = veraz.current_tenant() and document_id = r.document_id
           and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
 cross join lateral (
        select slug from veraz.source where tenant_id = veraz.current_tenant() and source_id = d.source_id offset 0) s
