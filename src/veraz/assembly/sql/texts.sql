-- Purpose: the stored text of revisions, where its pages begin, and what of it is in no chunk. One row per revision that may be read.
-- Index: revision_pkey, document_pkey, once per id (see search/sql/hydrate.sql).
select r.revision_id, r.text, r.lang, r.page_starts, r.dropped, r.dropped_why
  from unnest(%(revision_ids)s::uuid[]) as wanted (revision_id)
 cross join lateral (
        select revision_id, document_id, text, lang, page_starts, dropped, dropped_why from veraz.revision
         where tenant_id = veraz.current_tenant() and revision_id = wanted.revision_id offset 0) r
 cross join lateral (
        select from veraz.document
         where tenant_id = veraz.current_tenant() and document_id = r.document_id
           and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
