-- Purpose: of lexemes, those that a current chunk holds which the caller may read and which meets the filters, each with a word of that chunk
-- that has this lexeme, and with how many such chunks there are, 30 at most. One row per such lexeme, in their order.
-- Index: posting_pkey (tenant, analyser, term), then chunk_lexical_pkey, document_pkey and chunk_pkey until 30 chunks may be read; a lexeme
-- of which a thousand chunks may not be read counts as none.
select w.analyser, w.lexeme, s.word, c.passages
  from unnest(%(analysers)s::text[], %(lexemes)s::text[]) with ordinality as w (analyser, lexeme, place)
 cross join lateral (
        select (array_agg(chunk_id))[1] as chunk_id, count(*)::integer as passages
          from (select e.chunk_id
                  from (select u.chunk_no
                          from veraz.posting p, unnest(p.chunk_nos) as u (chunk_no)
                         where p.tenant_id = veraz.current_tenant() and p.analyser = w.analyser and p.term = veraz.term(w.lexeme)
                           and p.n > 0
                         limit 1000) c
                 cross join lateral (
                        select chunk_id, document_id from veraz.chunk_lexical o
                         where o.tenant_id = veraz.current_tenant() and o.chunk_no = c.chunk_no and o.is_current offset 0) e
                 cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                                         %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date,
                                         %(revised_to)s::date, %(published_from)s::date, %(published_to)s::date) p
                 where true {conditions}
                 limit 30) readable) c
 cross join lateral (
        select x.word
          from veraz.chunk o,
               regexp_split_to_table(concat_ws(' ', o.header, coalesce(o.embedded, o.display)), '[^[:alpha:]]+') as x (word)
         where o.tenant_id = veraz.current_tenant() and o.chunk_id = c.chunk_id
           and abs(length(x.word) - length(w.lexeme)) < 12
           and tsvector_to_array(veraz.analyse(w.analyser, x.word)) @> array[w.lexeme]
         limit 1) s
 order by w.place
