-- Purpose: PostgreSQL's own score of candidates of the lexical arm: the cover density of any of the question's words. One row per candidate, in
-- any order. Higher is better. Index: chunk_lexical (tenant, chunk), once per candidate.
with wanted as materialized (
    select analyser, string_agg(veraz.quote_lexeme(lexeme), ' | ')::tsquery as query
      from veraz.query_terms(%(question)s, %(analyser)s) group by analyser
)
select c.chunk_id, coalesce(ts_rank_cd(l.tsv, w.query), 0) as score
  from unnest(%(chunk_ids)s::uuid[]) as c (chunk_id)
 cross join lateral (
        select analyser, tsv from veraz.chunk_lexical o
         where o.tenant_id = veraz.current_tenant() and o.chunk_id = c.chunk_id offset 0) l
  left join wanted w on w.analyser = l.analyser
