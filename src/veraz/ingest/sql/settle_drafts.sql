-- Purpose: removes drafts whose chunks are written, and those that are old: their documents never came. Index: chunk_context.
delete from veraz.context_draft d
 where d.tenant_id = veraz.current_tenant()
   and (d.written_at < now() - make_interval(days => %(days)s)
        or exists (select from veraz.chunk c where c.tenant_id = d.tenant_id and c.context_key = d.context_key))
