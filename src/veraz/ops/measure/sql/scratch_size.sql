-- Purpose: the bytes of an index. One row.
select pg_relation_size(to_regclass(%(index)s)) as bytes
