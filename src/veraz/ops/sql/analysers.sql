-- Purpose: the analysers that the tenant's corpus uses, most chunks first. One row per analyser. Index: lexical_stat_pkey.
select analyser from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser having sum(chunks) > 0
 order by sum(chunks) desc, analyser
