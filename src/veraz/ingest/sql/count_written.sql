-- Purpose: the check before the commit: current chunks, lexical rows, vectors of this revision. One row. Index: the keys, once per chunk.
select count(*) filter (where c.is_current) as current_chunks, count(l.chunk_id) as lexical_rows, count(e.chunk_id) as vectors,
       (select d.superseded_by is not null from veraz.document d
         where d.tenant_id = veraz.current_tenant() and d.document_id = %(document_id)s) as is_superseded
  from unnest(%(chunk_ids)s::uuid[]) as w (chunk_id)
 cross join lateral (
        select is_current from veraz.chunk
         where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id and revision_id = %(revision_id)s offset 0) c
  left join lateral (
        select chunk_id from veraz.chunk_lexical where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id offset 0) l on true
  left join lateral (
        select chunk_id from {embedding} where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id offset 0) e on true
