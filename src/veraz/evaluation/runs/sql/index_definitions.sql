-- Purpose: the indexes that the arms walk, as they are defined, and whether they are whole. One row an index. Reads the catalogue.
select i.relname as name, pg_get_indexdef(x.indexrelid) as definition, x.indisvalid as is_valid
  from pg_index x
  join pg_class i on i.oid = x.indexrelid
  join pg_class t on t.oid = x.indrelid
 where t.relnamespace = 'veraz'::regnamespace
   and (t.relname = 'posting' or t.relname = 'chunk_lexical' or t.relname = 'embedding_' || %(space_id)s::integer)
 order by i.relname
