-- Purpose: the chunks of one revision, in reading order. Index: chunk (tenant, revision, ord).
select chunk_id, ord, section, heading_path, kind, display, header, token_count, spans, page, is_current
  from veraz.chunk where tenant_id = veraz.current_tenant() and revision_id = %(revision_id)s order by ord
