-- Purpose: the chunks of revisions, current where their revision is the one that its document shows, from a JSON array. Index: document_pkey.
insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display, header,
                         token_count, spans, start_at, end_at, page, content_hash, lang, embedded, window_start, window_end, context, context_key,
                         is_current)
select veraz.current_tenant(), c.chunk_id, c.document_id, c.revision_id, c.ord, c.section, c.heading_path, c.kind, c.body, c.display, c.header,
       c.token_count, c.spans, c.start, c."end", c.page, c.content_hash, c.lang, c.embedded, c.window_start, c.window_end, c.context, c.context_key,
       d.shown is not distinct from c.revision_id
  from json_to_recordset(%(chunks)s::json) as c (chunk_id uuid, document_id uuid, revision_id uuid, ord integer, section integer,
       heading_path text[], kind text, body text, display text, header text, token_count integer, spans integer[], start integer, "end" integer,
       page integer, content_hash bytea, lang text, embedded text, window_start integer, window_end integer,
       context text, context_key bytea)
 cross join lateral (
        select veraz.shown_revision(document) as shown from veraz.document
         where tenant_id = veraz.current_tenant() and document_id = c.document_id offset 0) d
