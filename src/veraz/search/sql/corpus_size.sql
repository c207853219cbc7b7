-- Purpose: what decides how the arms search: the analysers that the tenant's corpus uses, most chunks first; about how many vectors
-- the index of a space holds over all tenants; which index that is, and by what distance it is ordered. One row per analyser; with analyser and chunks null where the corpus is empty.
-- Index: lexical_stat_pkey.
-- The index's size tells it at any moment; its reltuples stay 0 from the first load until somebody vacuums or analyses.
-- A page holds as many vectors as fit: of two bytes a dimension, or one bit, and 300 for the neighbours, which clusters do not have.
select t.analyser, t.chunks, s.indexed, s.index_kind, s.index_options, s.distance
  from (select analyser, sum(chunks)::bigint as chunks
          from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser having sum(chunks) > 0) t
  full join (
       select pg_relation_size(to_regclass('veraz.embedding_' || space_id || '_' || index_kind)) / 8192
              * (8192 / case index_kind when 'binary' then dimension / 8 + 308 when 'ivfflat' then 2 * dimension + 24
                                        else 2 * dimension + 300 end) as indexed,
              index_kind, index_options::text as index_options, distance
         from veraz.embedding_space where space_id = %(space_id)s::integer) s on true
 order by t.chunks desc, t.analyser
