-- Purpose: the embeddings of new chunks, one after another in one array. The type refuses a wrong dimension, the check a zero vector.
-- Index: chunk_pkey.
insert into {embedding} (tenant_id, chunk_id, document_id, revision_id, is_current, vec)
select veraz.current_tenant(), c.chunk_id, c.document_id, c.revision_id, c.is_current,
       (%(vectors)s::real[])[(v.n - 1) * %(width)s::integer + 1 : v.n * %(width)s::integer]::halfvec
  from unnest(%(chunk_ids)s::uuid[]) with ordinality as v (chunk_id, n)
 cross join lateral (
        select chunk_id, document_id, revision_id, is_current from veraz.chunk
         where tenant_id = veraz.current_tenant() and chunk_id = v.chunk_id offset 0) c
