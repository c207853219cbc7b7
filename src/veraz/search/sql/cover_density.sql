-- Purpose: PostgreSQL's own score of candidates of the lexical arm: the cover density of any of the question's words. One row per candidate, in
-- any order. Higher is better. Index: chunk_lexical_pkey and document_pkey, once per candidate.
with wanted as materialized (
    select analyser, string_agg(veraz.quote_lexeme(lexeme), ' | ')::tsquery as query
      from veraz.query_terms(%(question)s, %(analyser)s) group by analyser
)
select c.chunk_id, coalesce(ts_rank_cd(l.tsv, w.query), 0) as score
  from unnest(%(chunk_ids)s::uuid[]) as c (chunk_id)
 cross join lateral (
        select document_id, analyser, tsv from veraz.chunk_lexical o
         where o.tenant_id = veraz.current_tenant() and o.chunk_id = c.chunk_id and o.is_current offset 0) l
 cross join lateral (
        select from veraz.document d
         where d.tenant_id = veraz.current_tenant() and d.document_id = l.document_id and d.deleted_at is null
           and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until) offset 0) d
  left join wanted w on w.analyser = l.analyser
