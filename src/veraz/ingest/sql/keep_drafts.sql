-- Purpose: what a model wrote just now, unless its document was erased meanwhile. Index: context_draft_pkey, document_pkey.
insert into veraz.context_draft (tenant_id, document_id, context_key, context)
select veraz.current_tenant(), w.document_id, w.context_key, w.context
  from unnest(%(draft_documents)s::uuid[], %(context_keys)s::bytea[], %(contexts)s::text[]) as w (document_id, context_key, context)
 where not exists (select from veraz.document d
                    where d.tenant_id = veraz.current_tenant() and d.document_id = w.document_id and d.erased_at is not null)
    on conflict do nothing
