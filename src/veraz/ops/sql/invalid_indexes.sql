-- Purpose: indexes that a broken build left behind. One row per index.
select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
 where c.relnamespace = 'veraz'::regnamespace and not i.indisvalid
