-- Purpose: how many terms a question has, and how many postings these have, where no permitted row came that could tell: whether the lexical
-- arm read them all.
-- One row. Index: posting_pkey (tenant, analyser, term).
select count(distinct t.term) as terms, coalesce(sum(abs(p.n)), 0)::bigint as postings
  from veraz.query_terms(%(question)s, %(analyser)s) t
  left join lateral (
        select n from veraz.posting
         where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p on true
