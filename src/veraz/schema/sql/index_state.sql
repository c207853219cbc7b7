-- Purpose: an index by its name: its bytes; null where there is no valid one. One row. Reads the catalogue.
select pg_relation_size(x.indexrelid) as bytes
  from (select to_regclass(%(index)s) as oid) named left join pg_index x on x.indexrelid = named.oid and x.indisvalid
