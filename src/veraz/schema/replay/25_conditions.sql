-- What quotation marks, -word and OR of a question demand of a chunk, as a tsquery over chunk_lexical.tsv: see search/syntax.py.

-- A quotation in the spellings that mean the same: fault E-4021, fault E4021, fault E 4021; 2,5 mg, 2.5 mg, 2.5mg. As it is first.
create or replace function veraz.spellings(body text) returns text[]
language sql immutable parallel safe strict
return case when body !~ '[0-9]' then array[body] else (
    with swapped as (
        select body as spelled
        union select translate(body, ',.', '.,') where body ~ '[0-9][.,][0-9]'
    )
    select array_agg(spelled order by spelled <> body, spelled) from (
        select spelled from swapped
        union select regexp_replace(spelled, '\y([[:alpha:]]{1,6})(?:\s?[-‐‑‒–—−]\s?|\s)([0-9])', '\1\2', 'g') from swapped
        union select regexp_replace(spelled, '([0-9])\s(µg|μg|[[:alpha:]]{1,3})\y', '\1\2', 'g') from swapped
        union select regexp_replace(regexp_replace(spelled, '([[:alpha:]])([0-9])', '\1 \2', 'g'), '([0-9])([[:alpha:]µμ])', '\1 \2', 'g') from swapped
    ) v
) end;

-- The lexemes of a quotation: in each spelling, at each place, those of which one must stand there. Place null: an identifier or a compound alone.
create or replace function veraz.quotation(analyser text, body text)
returns table (spelling integer, place integer, lexeme text) language sql stable parallel safe strict as $$
    select s.n::integer, place::integer, w.lexeme
      from unnest(veraz.spellings(body)) with ordinality s (spelled, n),
           unnest(veraz.analyse(analyser, s.spelled)) w, unnest(w.positions) place
    union all
    select -(row_number() over ())::integer, null, w.lexeme
      from unnest(veraz.analyse(analyser, body)) w where w.positions is null and btrim(body) !~ '\s'
$$;

-- A quotation as a tsquery: its words at their distances from one another. Null where the question's language has stop words alone.
create or replace function veraz.phrase(analyser text, lang text, body text) returns tsquery
language sql stable parallel safe strict as $$
    select string_agg('(' || spelled || ')', ' | ' order by spelling)::tsquery
      from (select spelling, string_agg(gap || '(' || lexemes || ')', ' ' order by place) as spelled
              from (select spelling, place, string_agg(veraz.quote_lexeme(lexeme), ' | ' order by lexeme) as lexemes,
                           coalesce('<' || place - lag(place) over (partition by spelling order by place) || '> ', '') as gap
                      from veraz.quotation(analyser, body) group by spelling, place) side_by_side
             group by spelling) spellings
     where cardinality(veraz.identifiers(body)) > 0 or to_tsvector(('veraz.lex_' || lang)::regconfig, veraz.searchable(body)) <> ''
$$;

-- Every word of a text that is no stop word of the question's language, as a tsquery.
create or replace function veraz.every_word(analyser text, lang text, body text) returns tsquery
language sql stable parallel safe strict as $$
    select string_agg('(' || lexemes || ')', ' & ' order by place)::tsquery
      from (select place, string_agg(veraz.quote_lexeme(lexeme), ' | ' order by lexeme) as lexemes
              from unnest(veraz.analyse(analyser, body)) w, unnest(w.positions) place
             where place in (select p from unnest(to_tsvector(('veraz.lex_' || lang)::regconfig, veraz.searchable(body))) k,
                                           unnest(k.positions) p)
             group by place) words
$$;

-- What a chunk of this analyser must meet: one of the alternatives, which syntax.py gives as [{"phrases": [], "without": [], "words": ""}].
-- Null where they demand nothing, because they are stop words alone.
create or replace function veraz.condition(analyser text, lang text, alternatives jsonb) returns tsquery
language plpgsql stable parallel safe strict as $$
declare
    one      jsonb;
    part     tsquery;
    met      tsquery;
    wanted   tsquery;
    quotation text;
begin
    for one in select * from jsonb_array_elements(alternatives) loop
        met := null;
        for quotation in select * from jsonb_array_elements_text(one -> 'phrases') loop
            part := veraz.phrase(analyser, lang, quotation);
            met := coalesce(met && part, part, met);
        end loop;
        for quotation in select * from jsonb_array_elements_text(one -> 'without') loop
            part := !! veraz.phrase(analyser, lang, quotation);
            met := coalesce(met && part, part, met);
        end loop;
        if one ->> 'words' <> '' then
            met := veraz.every_word(analyser, lang, one ->> 'words');
        end if;
        wanted := coalesce(wanted || met, met, wanted);
    end loop;
    return wanted;
end $$;

-- The terms by which every chunk can be found that meets alternatives of which each names words: of each the rarest place of one quotation,
-- in every spelling.
create or replace function veraz.needed_terms(analyser text, lang text, alternatives jsonb) returns table (term bigint)
language sql stable parallel safe strict as $$
    with word as materialized (
        select a.n as alternative, p.n as quotation, q.spelling, q.place, veraz.term(q.lexeme) as term
          from jsonb_array_elements(alternatives) with ordinality a (one, n),
               jsonb_array_elements_text(a.one -> 'phrases') with ordinality p (body, n),
               veraz.quotation(needed_terms.analyser, p.body) q
         where veraz.phrase(needed_terms.analyser, lang, p.body) is not null
        union all
        select a.n, 0, 0, place, veraz.term(w.lexeme)
          from jsonb_array_elements(alternatives) with ordinality a (one, n),
               unnest(veraz.analyse(needed_terms.analyser, a.one ->> 'words')) w, unnest(w.positions) place
         where place in (select p from unnest(to_tsvector(('veraz.lex_' || lang)::regconfig, veraz.searchable(a.one ->> 'words'))) k,
                                       unnest(k.positions) p)
    ), place as (
        select alternative, quotation, spelling, place, array_agg(w.term) as terms, coalesce(sum(p.n), 0) as chunks
          from word w
          left join lateral (
                select sum(abs(n)) as n from veraz.posting
                 where tenant_id = veraz.current_tenant() and analyser = needed_terms.analyser and term = w.term offset 0) p on true
         group by 1, 2, 3, 4
    ), rarest as (
        select distinct on (alternative, quotation, spelling) alternative, quotation, terms, chunks
          from place order by alternative, quotation, spelling, chunks, place
    ), quoted as (
        select alternative, quotation, array_agg(t) as terms, sum(chunks) as chunks
          from rarest, unnest(terms) t group by 1, 2
    ), chosen as (
        select distinct on (alternative) terms from quoted order by alternative, chunks, quotation
    )
    select distinct unnest(terms) from chosen
$$;
