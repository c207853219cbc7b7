-- Purpose: the question's terms as the lexical arm sees them, and in how many chunks each occurs. One row per term.
select t.analyser, t.lexeme, t.weight, coalesce(sum(p.n), 0) as chunks,
       t.weight * ln(1 + (n.chunks - coalesce(sum(p.n), 0) + 0.5) / (coalesce(sum(p.n), 0) + 0.5)) as idf
  from veraz.query_terms(%(question)s, %(analyser)s) t
  join (select analyser, sum(chunks)::double precision as chunks from veraz.lexical_stat
         where tenant_id = veraz.current_tenant() group by analyser) n using (analyser)
  left join veraz.posting p on p.tenant_id = veraz.current_tenant() and p.analyser = t.analyser and p.term = t.term
 group by t.analyser, t.term, t.lexeme, t.weight, n.chunks
 order by idf desc, t.lexeme
