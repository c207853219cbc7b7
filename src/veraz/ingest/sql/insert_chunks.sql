-- Purpose: the chunks of one revision, not yet current, from a JSON array.
insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display, header,
                         token_count, spans, start_at, end_at, page, content_hash, lang, embedded, window_start, window_end,
                         context, context_key)
select veraz.current_tenant(), c.chunk_id, %(document_id)s, %(revision_id)s, c.ord, c.section, c.heading_path, c.kind, c.body, c.display,
       c.header, c.token_count, c.spans, c.start, c."end", c.page, decode(c.content_hash, 'hex'), c.lang, c.embedded, c.window_start,
       c.window_end, coalesce(c.context, ''), decode(c.context_key, 'hex')
  from jsonb_to_recordset(%(chunks)s::jsonb) as c (chunk_id uuid, ord integer, section integer, heading_path text[], kind text, body text,
       display text, header text, token_count integer, spans integer[], start integer, "end" integer, page integer, content_hash text,
       lang text, embedded text, window_start integer, window_end integer, context text, context_key text)
