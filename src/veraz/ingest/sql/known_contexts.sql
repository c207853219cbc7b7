-- Purpose: contexts that were written before for the same question to the same model, of stored chunks or of drafts. One row per key: the
-- longest, where one was cut to fit. Index: chunk_context, context_draft_key.
select distinct on (known.context_key) known.context_key, known.context
  from (select c.context_key, c.context from veraz.chunk c
         where c.tenant_id = veraz.current_tenant() and c.context_key = any (%(context_keys)s)
        union all
        select d.context_key, d.context from veraz.context_draft d
         where d.tenant_id = veraz.current_tenant() and d.context_key = any (%(context_keys)s)) known
 order by known.context_key, length(known.context) desc, known.context
