-- Purpose: whether the tenant's current chunks have an extension's index: a row for each of their analysers, with how many chunks that is. A
-- star in `name` stands for the analyser. Index: lexical_stat_pkey; the catalogue for each analyser.
select s.analyser, exists (
        select from pg_index x where x.indexrelid = to_regclass('veraz.' || replace(%(name)s, '*', s.analyser)) and x.indisvalid) as is_built,
       s.chunks
  from (select analyser, sum(chunks)::bigint as chunks from veraz.lexical_stat
         where tenant_id = veraz.current_tenant() group by analyser having sum(chunks) > 0) s
 order by s.analyser
