-- Purpose: how rare each word of the question is, for weighing what the evidence covers. One row per word; the lowest idf of the
-- analysers that know it, the highest possible where none does. Index: posting_pkey.
select w.word, coalesce(min(x.idf) filter (where x.chunks > 0), max(x.idf), 0)
  from unnest(%(words)s::text[]) as w (word)
  left join lateral (
        select t.term, coalesce(sum(p.n), 0) as chunks,
               ln(1 + (s.chunks - coalesce(sum(p.n), 0) + 0.5) / (coalesce(sum(p.n), 0) + 0.5)) as idf
          from veraz.query_terms(w.word, %(analyser)s) t
          join (select analyser, sum(chunks)::double precision as chunks from veraz.lexical_stat
                 where tenant_id = veraz.current_tenant() group by analyser) s using (analyser)
          left join veraz.posting p on p.tenant_id = veraz.current_tenant() and p.analyser = t.analyser and p.term = t.term
         group by t.analyser, t.term, s.chunks) x on true
 group by w.word
