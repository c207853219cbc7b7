-- Purpose: what decides how the arms search: the analysers that the tenant's corpus uses, most chunks first, and about how many vectors
-- the index of a space holds over all tenants. One row per analyser; none for an empty corpus. Index: lexical_stat_pkey.
-- The index's size tells it at any moment; its reltuples stay 0 from the first load until somebody vacuums or analyses.
-- A page holds as many vectors as fit, of two bytes a dimension and 300 for the neighbours.
select analyser, sum(chunks)::bigint,
       (select pg_relation_size(to_regclass('veraz.embedding_' || s.space_id || '_hnsw')) / 8192 * (8192 / (2 * s.dimension + 300))
          from veraz.embedding_space s where s.space_id = %(space_id)s::integer)
  from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser having sum(chunks) > 0
 order by sum(chunks) desc, analyser
