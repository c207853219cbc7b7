-- Purpose: the question's terms as the lexical arm sees them, and in how many chunks each occurs. One row per term.
-- Index: posting_pkey (tenant, analyser, term).
select t.analyser, t.lexeme, t.weight, p.chunks, t.weight * ln(1 + (n.chunks - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
  from veraz.query_terms(%(question)s, %(analyser)s) t
  join (select analyser, sum(chunks)::double precision as chunks from veraz.lexical_stat
         where tenant_id = veraz.current_tenant() group by analyser) n using (analyser)
 cross join lateral (
        select coalesce(sum(n), 0) as chunks from veraz.posting
         where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term) p
 order by idf desc, t.lexeme
