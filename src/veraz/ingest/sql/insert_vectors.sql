-- Purpose: the embeddings of one revision, not yet current. The type refuses a wrong dimension, the check a zero vector.
insert into {embedding} (tenant_id, chunk_id, document_id, revision_id, vec)
select veraz.current_tenant(), chunk_id, %(document_id)s, %(revision_id)s, vec::halfvec
  from unnest(%(chunk_ids)s::uuid[], %(vectors)s::text[]) as v (chunk_id, vec)
