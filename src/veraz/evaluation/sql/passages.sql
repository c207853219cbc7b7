-- Purpose: spans of revisions with what a judge must know of where they stand: title, headings above, language, date. One row per span
-- whose text is there and may be read. Index: source (tenant, slug), document (tenant, source, external id), revision (tenant, document,
-- number), section_pkey, once per span.
select s.slug as source, d.external_id, r.number as revision, wanted.start_at as start, wanted.end_at as "end",
       substr(r.text, wanted.start_at + 1, wanted.end_at - wanted.start_at) as text, r.title,
       coalesce((select h.heading_path from veraz.section h
                  where h.tenant_id = veraz.current_tenant() and h.revision_id = r.revision_id and h.start_at <= wanted.start_at
                  order by h.start_at desc, h.ord desc limit 1), '{}') as heading_path,
       r.lang, r.revised_at
  from unnest(%(sources)s::text[], %(external_ids)s::text[], %(revisions)s::integer[], %(starts)s::integer[], %(ends)s::integer[])
       as wanted (source, external_id, number, start_at, end_at)
  join veraz.source s on s.tenant_id = veraz.current_tenant() and s.slug = wanted.source
 cross join lateral (
        select document_id, external_id from veraz.document
         where tenant_id = veraz.current_tenant() and source_id = s.source_id and external_id = wanted.external_id
           and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
 cross join lateral (
        select revision_id, number, text, title, lang, revised_at from veraz.revision
         where tenant_id = veraz.current_tenant() and document_id = d.document_id and number = wanted.number offset 0) r
