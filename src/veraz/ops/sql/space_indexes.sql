-- Purpose: the index of every space as it is recorded, and what is there: its bytes, null where it is missing or not valid, and the name of one
-- that was built and never put into its place. One row a space. Reads the catalogue.
select s.name as space, s.space_id::integer as space_id, s.index_kind as kind, s.index_options::text as options, s.index_built_at as built_at,
       (select pg_relation_size(x.indexrelid) from pg_index x
         where x.indisvalid and x.indexrelid = to_regclass('veraz.embedding_' || s.space_id || '_' || s.index_kind)) as bytes,
       to_regclass('veraz.embedding_' || s.space_id || '_next')::text as unplaced
  from veraz.embedding_space s order by s.space_id
