-- Purpose: the revisions of a document that the caller was just shown, newest first; their text only where a fact is looked for in it. In
-- mode "write", for a document that may be deleted. Index: revision (tenant, document, number).
select revision_id, number, case when %(with_text)s then text else '' end as text, title, lang, license, jurisdiction, published_at,
       revised_at, valid_from, valid_to,
       case when effective_from = '-infinity' then '0001-01-01'::date else effective_from end as effective_from,
       chunker, dropped, dropped_why, ingested_at
  from veraz.revision
 where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
 order by number desc
