-- Purpose: the live text of cited spans and the headings above them, under the reader's own rights. At most one row per citation: none
-- where the document may not be read, a null text where the revision was purged. A revision that came after the trace is another one.
-- Index: source (tenant, slug), document (tenant, source, external id), revision (tenant, document, number), section_pkey.
select s.slug, d.external_id, c.number, c.start_at, c.end_at, substr(r.text, c.start_at + 1, c.end_at - c.start_at),
       (select h.heading_path from veraz.section h
         where h.tenant_id = r.tenant_id and h.revision_id = r.revision_id and h.start_at <= c.start_at
         order by h.start_at desc, h.ord desc limit 1)
  from unnest(%(sources)s::text[], %(external_ids)s::text[], %(revisions)s::integer[], %(starts)s::integer[], %(ends)s::integer[])
       as c (source, external_id, number, start_at, end_at)
  join veraz.source s on s.tenant_id = veraz.current_tenant() and s.slug = c.source
  join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id and d.external_id = c.external_id
  left join veraz.revision r on r.tenant_id = d.tenant_id and r.document_id = d.document_id and r.number = c.number
                            and r.ingested_at <= %(traced_at)s
 where d.deleted_at is null and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
