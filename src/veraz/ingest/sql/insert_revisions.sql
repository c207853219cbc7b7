-- Purpose: immutable revisions, from a JSON array.
insert into veraz.revision (tenant_id, revision_id, document_id, number, text, title, url, lang, publisher, license, jurisdiction,
                            published_at, revised_at, valid_from, valid_to, supersedes, item, edition, raw_hash, bytes_hash, stated, media, parser,
                            chunker, meta, page_starts, dropped, dropped_why)
select veraz.current_tenant(), r.revision_id, r.document_id, r.number, r.text, r.title, r.url, r.lang, r.publisher, r.license, r.jurisdiction,
       r.published_at, r.revised_at, r.valid_from, r.valid_to, r.supersedes, r.item, r.edition, r.raw_hash, r.bytes_hash, r.stated, r.media, r.parser,
       r.chunker, r.meta, r.page_starts, r.dropped, r.dropped_why
  from json_to_recordset(%(revisions)s::json) as r (revision_id uuid, document_id uuid, number integer, text text, title text, url text, lang text,
       publisher text, license text, jurisdiction text, published_at date, revised_at date, valid_from date, valid_to date, supersedes text,
       item text, edition text, raw_hash bytea, bytes_hash bytea, stated jsonb, media text, parser text, chunker text, meta jsonb,
       page_starts integer[], dropped integer[], dropped_why text[])
