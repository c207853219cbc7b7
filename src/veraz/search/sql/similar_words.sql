-- Purpose: the fuzzy arm: for each of `words` that has one of the `unseen` lexemes, the lexemes of the tenant's vocabulary most like it by
-- their trigrams. Whether the caller may see them is asked afterwards, of those that are left: readable_words.sql.
-- Rows: at most 40 a word and analyser. Index: lexeme_stat_pkey (tenant, analyser): the whole vocabulary is compared. An index of
-- trigrams would not be used under row-level security, where its operator is not leakproof.
with wanted as materialized (
    select distinct on (w.word, e.analyser, t.lexeme) w.word, e.analyser, t.lexeme
      from unnest(%(words)s::text[]) w (word)
     cross join veraz.lexical_epoch e
     cross join lateral unnest(veraz.analyse(e.analyser, w.word)) t
     where e.tenant_id = veraz.current_tenant() and t.lexeme = any (%(unseen)s::text[])
)
select w.word, w.lexeme as wanted, w.analyser, v.lexeme, v.similarity
  from wanted w
 cross join lateral (
        select s.lexeme, similarity(s.lexeme, w.lexeme) as similarity
          from veraz.lexeme_stat s
         where s.tenant_id = veraz.current_tenant() and s.analyser = w.analyser
           and length(s.lexeme) between length(w.lexeme) - 2 and length(w.lexeme) + 2
           and similarity(s.lexeme, w.lexeme) >= 0.15
         order by similarity desc, s.lexeme
         limit 40) v
 order by w.word, v.similarity desc, v.lexeme
