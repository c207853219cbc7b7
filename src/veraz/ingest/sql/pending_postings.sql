-- Purpose: how much the inverted file has grown since the last merge. One row per analyser. Index: lexical_stat_pkey.
select analyser, coalesce(sum(postings) filter (where block < 0), 0)::bigint as delta,
       coalesce(sum(postings) filter (where block >= 0), 0)::bigint as merged
  from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser
