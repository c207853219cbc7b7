-- Purpose: every revision of a document, newest first. Index: revision (tenant, document, number).
select revision_id, number, title, url, lang, publisher, license, jurisdiction, published_at, revised_at, valid_from, valid_to,
       item, edition, case when effective_from = '-infinity' then '0001-01-01'::date else effective_from end as effective_from,
       ingested_at, retired_at, parser, chunker, meta, length(text) as length
  from veraz.revision
 where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
   and exists (select from veraz.document d where d.tenant_id = veraz.current_tenant() and d.document_id = %(document_id)s
                  and d.deleted_at is null and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until))
 order by number desc
