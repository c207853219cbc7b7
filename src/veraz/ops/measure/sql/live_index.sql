-- Purpose: the approximate index of a space as it stands: its kind and options, as built and as recorded, its size and that of its table;
-- and of the inverted file. One row; nulls where there is no valid index. Reads the catalogue alone.
select s.index_kind as kind, s.index_options::text as recorded, i.reloptions as options, pg_relation_size(i.oid) as index_bytes,
       pg_table_size(t.oid) as table_bytes, pg_total_relation_size('veraz.posting'::regclass) as posting_bytes,
       current_setting('server_version') as server, (select extversion from pg_extension where extname = 'vector') as pgvector,
       (select pg_size_bytes(current_setting('maintenance_work_mem'))) as memory
  from veraz.embedding_space s
  join pg_class t on t.oid = to_regclass('veraz.embedding_' || s.space_id)
  left join (pg_class i join pg_index x on x.indexrelid = i.oid and x.indisvalid)
    on x.indrelid = t.oid and i.relname = 'embedding_' || s.space_id || '_' || s.index_kind
 where s.space_id = %(space_id)s::integer
