-- Purpose: the chunks of one revision, in reading order. Index: chunk (tenant, revision, ord).
select chunk_id, ord, section, heading_path, kind, display, header, token_count, spans, page, is_current, context
  from veraz.chunk where tenant_id = veraz.current_tenant() and revision_id = %(revision_id)s
   and exists (select from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.document_id = d.document_id
                where d.tenant_id = veraz.current_tenant() and r.revision_id = %(revision_id)s
                  and d.deleted_at is null and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until))
 order by ord
