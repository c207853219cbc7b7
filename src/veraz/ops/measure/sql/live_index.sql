-- Purpose: the approximate index of a space as it stands: its options, its size and that of its table; and of the inverted file. One row; nulls
-- where there is no valid index. Reads the catalogue alone.
select i.reloptions as options, pg_relation_size(i.oid) as index_bytes, pg_table_size(t.oid) as table_bytes,
       pg_total_relation_size('veraz.posting'::regclass) as posting_bytes, current_setting('server_version') as server,
       (select extversion from pg_extension where extname = 'vector') as pgvector,
       (select pg_size_bytes(current_setting('maintenance_work_mem'))) as memory
  from pg_class t
  left join (pg_class i join pg_index x on x.indexrelid = i.oid and x.indisvalid)
    on x.indrelid = t.oid and i.relname = 'embedding_' || %(space_id)s::integer || '_hnsw'
 where t.oid = to_regclass('veraz.embedding_' || %(space_id)s::integer)
