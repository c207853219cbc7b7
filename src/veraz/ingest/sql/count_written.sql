-- Purpose: the check before the commit: current chunks, lexical rows, vectors of each revision. One row a revision. Index: the keys, once per
-- chunk.
select c.revision_id, count(*) filter (where c.is_current) as current_chunks, count(l.chunk_id) as lexical_rows, count(e.chunk_id) as vectors,
       (select d.superseded_by is not null from veraz.document d
         where d.tenant_id = veraz.current_tenant() and d.document_id = c.document_id) as is_superseded
  from unnest(%(chunk_ids)s::uuid[]) as w (chunk_id)
 cross join lateral (
        select document_id, revision_id, is_current from veraz.chunk
         where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id offset 0) c
  left join lateral (
        select chunk_id from veraz.chunk_lexical
         where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id and is_current = c.is_current offset 0) l on true
  left join lateral (
        select chunk_id from {embedding}
         where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id and is_current = c.is_current offset 0) e on true
 group by c.document_id, c.revision_id
