-- Purpose: how rare each word of the question is, for weighing what the evidence covers. One row per word; the lowest idf of the
-- analysers that know it, the highest possible where none does. Index: posting_pkey (tenant, analyser, term).
select w.word, coalesce(min(x.idf) filter (where x.chunks > 0), max(x.idf), 0)
  from unnest(%(words)s::text[]) as w (word)
  left join lateral (
        select p.chunks, ln(1 + (s.chunks - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
          from veraz.query_terms(w.word, %(analyser)s) t
          join (select analyser, sum(chunks)::double precision as chunks from veraz.lexical_stat
                 where tenant_id = veraz.current_tenant() group by analyser) s using (analyser)
         cross join lateral (
                select coalesce(sum(n), 0) as chunks from veraz.posting
                 where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term) p) x on true
 group by w.word
