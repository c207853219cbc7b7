-- Purpose: what decides how the arms search: the analysers that the tenant's corpus uses, most chunks first, and about how many vectors
-- the index of a space holds over all tenants. One row per analyser; none for an empty corpus. Index: lexical_stat_pkey.
select analyser, sum(chunks)::bigint,
       (select greatest(c.reltuples, 0)::bigint from pg_class c where c.oid = to_regclass('veraz.embedding_' || %(space_id)s::integer || '_hnsw'))
  from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser having sum(chunks) > 0
 order by sum(chunks) desc, analyser
