-- Analysis: one function for documents and questions alike.

-- ½ is 1/2, and 2½ is 2 1/2: the parser knows no such sign.
create or replace function veraz.fractions(body text) returns text
language plpgsql immutable parallel safe strict as $$
begin
    if body ~ '[½¼¾⅓⅔⅛⅜⅝⅞]' then
        body := replace(replace(replace(body, '½', ' 1/2 '), '¼', ' 1/4 '), '¾', ' 3/4 ');
        body := replace(replace(replace(body, '⅓', ' 1/3 '), '⅔', ' 2/3 '), '⅛', ' 1/8 ');
        body := replace(replace(replace(body, '⅜', ' 3/8 '), '⅝', ' 5/8 '), '⅞', ' 7/8 ');
    end if;
    return body;
end $$;

-- Text as the parser should see it. Joined words come apart (the parser would keep "and/or" and "end.Next" as one file or
-- host name, and count a hyphenated word three times), and so do a figure and its unit ("500mg"), hyphens and a plus before a digit are no sign
-- ("5--10", "E--4021", "-20"), superscripts stay distinct from digits, fractions become figures, invisible characters vanish.
create or replace function veraz.searchable(body text) returns text
language plpgsql immutable parallel safe strict as $$
begin
    if octet_length(body) <> length(body) then
        body := normalize(body, nfc);
        body := regexp_replace(body, '[\u00ad\u200b\u200c\u200d\u2060\ufeff]', '', 'g');
        body := translate(body, '’‘ʼ‐‑‒–—―−﹣－', '''''''---------');
        body := regexp_replace(body, '(\w)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)', '\1^\2', 'g');
        body := translate(body, '⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉', '01234567890123456789');
        body := veraz.fractions(body);
        body := regexp_replace(body, '([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af])', ' \1 ', 'g');
    end if;
    if body ~* '[0-9](?:[kmcnpµμud]?[glmv]|[mk]?cal|iu|ui|ie|mcg|m?eq|[mnµμ]?mol|mmhg|hz|h|hrs?|min)\y' then
        body := regexp_replace(body, '\y([0-9]+)([kmcnpµμud]?[glmv]|[mk]?cal|iu|ui|ie|mcg|m?eq|[mnµμ]?mol|mmhg|hz|h|hrs?|min)\y', '\1 \2', 'gi');
    end if;
    body := regexp_replace(body, '([[:alpha:]])[.]([[:alpha:]])', '\1. \2', 'g');
    body := regexp_replace(body, '[/\\<>&_]|[-+]+(?=[0-9])', ' ', 'g'); -- translate() takes five times as long
    return regexp_replace(body, '([[:alnum:]])-(?=[[:alnum:]])', '\1 ', 'g');
end $$;

-- Extra unstemmed lexemes for identifiers, in the spellings that people use: E-4021 = E4021 = E 4021 = E - 4021 = E--4021, 120/80, 10^5,
-- 500mg = 500 mg, mg/m² = mg/m2, ½ = 1/2, 2,5 = 2.5, 1.000 = 1,000 = 1 000 = 1'000 = 1000. Which of the two a sign means is the language's to say; for finding, both spellings do,
-- and never 1.
create or replace function veraz.identifiers(body text) returns text[]
language plpgsql immutable parallel safe strict as $$
declare
    folded text;
    found  text[];
begin
    if body !~ '[0-9⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾⅓⅔⅛⅜⅝⅞]' then
        return '{}';
    end if;
    folded := body;
    if octet_length(body) <> length(body) then
        folded := normalize(body, nfc);
        if folded ~ '[⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉‐‑‒–—―−﹣－]' then
            folded := regexp_replace(folded, '(\w)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)', '\1^\2', 'g');
            folded := translate(folded, '⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉‐‑‒–—―−﹣－', '01234567890123456789---------');
        end if;
        folded := veraz.fractions(folded);
    end if;
    folded := regexp_replace(folded, '-{2,}', '-', 'g');
    select array_agg(distinct lexeme) into found from (
        select regexp_replace(lower(m[1]), '[-_/.:]', '', 'g') as lexeme
          from regexp_matches(folded, '([[:alnum:]]+(?:[-_/.:][[:alnum:]]+)+)', 'g') m
         where m[1] ~ '[0-9]' and m[1] ~ '[[:alpha:]]'
           and m[1] !~ '^[0-9]+([-_/.:][0-9]+)+[[:alpha:]]*$' -- 2.5mg is not 25mg
        union all
        select translate(lower(m[1] || m[2]), ',μ', '.µ')
          from regexp_matches(folded, '(?<![[:alnum:].,])([0-9]+(?:[.,][0-9]+)?) ?([kmcnpµμud]?[glmv]|[mk]?cal|iu|ui|ie|mcg|m?eq|[mnµμ]?mol|mmhg|hz|h|hrs?|min)\y', 'gi') m
        union all
        select lower(m[1] || m[2]) from regexp_matches(folded, '\y([[:alpha:]]+)\^([0-9]+)\y', 'g') m
        union all
        select lower(m[1] || m[2]) from regexp_matches(folded, '\y([A-Z]{1,3})(?: ?- ?| )([0-9]{2,})\y', 'g') m
        union all
        select lower(m[1] || m[2]) from regexp_matches(folded, '\y([A-Z]{2,8}) ([0-9]+)\y', 'g') m
        union all
        select m[1] from regexp_matches(folded, '\y([0-9]+[/^][0-9]+)\y', 'g') m
        union all
        select m[1] || '.' || m[2] from regexp_matches(folded, '(?<![[:alnum:].,])([0-9]+),([0-9]+)(?![.,]?[0-9])', 'g') m
        union all
        select regexp_replace(m[1], '[^0-9]', '', 'g') || coalesce('.' || m[3], '')
          from regexp_matches(folded, '(?<![[:alnum:].,])([1-9][0-9]{0,2}(?:([.,''’ \u00a0\u2007\u2009\u202f])[0-9]{3})(?:\2[0-9]{3})*)(?:[.,]([0-9]+))?(?![.,]?[0-9])', 'g') m
    ) spelling where length(lexeme) between 2 and 100;
    return coalesce(found, '{}');
end $$;

-- Compounds as one word, so that follow-up, followup and follow up meet: "followup". Not where every part is a stop word (est-ce).
create or replace function veraz.compounds(analyser text, body text) returns text[]
language plpgsql stable parallel safe strict as $$
declare
    joined text;
    found  text[];
begin
    if body !~ '[[:alpha:]][-‐‑][[:alpha:]]' then
        return '{}';
    end if;
    select string_agg(distinct translate(m[1], '-‐‑', ''), ' ') into joined
      from regexp_matches(body, '(?<![[:alnum:]])([[:alpha:]]+(?:[-‐‑][[:alpha:]]+)+)(?![-‐‑]?[[:alnum:]])', 'g') m
     where length(m[1]) between 4 and 60
       and to_tsvector(('veraz.lex_' || analyser)::regconfig, translate(m[1], '-‐‑', '   ')) <> '';
    if joined is null then
        return '{}';
    end if;
    select array_agg(distinct lexeme) into found
      from (select @extschema@.unaccent(lexeme) as lexeme from unnest(to_tsvector(('veraz.lex_' || analyser)::regconfig, joined))
            union all
            select lexeme from unnest(to_tsvector(('veraz.fold_' || analyser)::regconfig, joined))) spelled;
    return coalesce(found, '{}');
end $$;

-- lexemes with positions, as tsvector text, so that one value carries term frequencies and phrase positions.
create or replace function veraz.quote_lexeme(lexeme text) returns text
language sql immutable parallel safe strict
return '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''';

-- The lexemes of a text under an analyser. Stop words go first; then each word gives unaccent(stem(word)) and
-- stem(unaccent(word)), at the same position; identifiers and compounds as one word follow without positions. Spanish and Portuguese
-- words in -ción and -ção are stemmed as that where the accent is left out: medicacion and medicaciones meet.
create or replace function veraz.analyse(analyser text, body text) returns tsvector
language plpgsql stable parallel safe strict as $$
declare
    source text := veraz.searchable(body);
    base   tsvector;
    extra  text[] := veraz.identifiers(body) || veraz.compounds(analyser, body);
begin
    if analyser = 'es' then
        source := regexp_replace(source, '(?<=[[:alpha:]][cs])ion\y', 'ión', 'gi');
    elsif analyser = 'pt' then
        source := regexp_replace(regexp_replace(source, '(?<=[[:alpha:]])cao\y', 'ção', 'gi'), '(?<=[[:alpha:]])coes\y', 'ções', 'gi');
    end if;
    base := to_tsvector(('veraz.lex_' || analyser)::regconfig, source);
    if octet_length(source) <> length(source) then
        select coalesce(string_agg(veraz.quote_lexeme(lexeme) || ':' || places, ' '), '')::tsvector into base
          from (select lexeme, string_agg(distinct place::text, ',') as places
                  from (select @extschema@.unaccent(lexeme) as lexeme, place
                          from unnest(base) as b, unnest(b.positions) as place
                        union
                        select f.lexeme, place
                          from unnest(to_tsvector(('veraz.fold_' || analyser)::regconfig, source)) as f, unnest(f.positions) as place
                         where place in (select unnest(positions) from unnest(base))) spelled
                 where lexeme <> ''
                 group by lexeme) word;
    end if;
    if cardinality(extra) > 0 then
        base := base || array_to_tsvector(array(select e from unnest(extra) e where not tsvector_to_array(base) @> array[e]));
    end if;
    return base;
end $$;

create or replace function veraz.term(lexeme text) returns bigint
language sql immutable parallel safe strict
return hashtextextended(lexeme, 0);

-- sparsevec holds dimensions up to 10^9; two terms of one question meet in one dimension about once in 10^9 / terms^2.
create or replace function veraz.dimension(term bigint) returns integer
language sql immutable parallel safe strict
return (1 + (term & 9223372036854775807) % 1000000000)::integer;

-- BM25's document side, tf (k1 + 1) / (tf + k1 (1 - b + b length / reference)), k1 = 1.5, b = 0.75.
-- Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, eq. 3.15.
create or replace function veraz.saturation(tf integer, length integer, reference_length real) returns double precision
language sql immutable parallel safe strict
return tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * length::double precision / reference_length::double precision));

-- The number of tokens that BM25 counts as a text's length: words that survive the stop list.
create or replace function veraz.token_length(tsv tsvector) returns integer
language sql immutable parallel safe strict
return (select count(distinct place)::integer from (select unnest(positions) as place from unnest(tsv)) places);

create or replace function veraz.document_vector(tsv tsvector, length integer, reference_length real)
returns @extschema@.sparsevec language sql immutable parallel safe strict
return (
    select ('{' || coalesce(string_agg(dimension || ':' || weight::real, ','), '') || '}/1000000000')::@extschema@.sparsevec -- which sorts
      from (select veraz.dimension(veraz.term(t.lexeme)) as dimension,
                   sum(veraz.saturation(coalesce(cardinality(t.positions), 1), length, reference_length)) as weight
              from unnest(tsv) t group by 1) w
);

-- The question's terms under every analyser that the tenant's corpus uses. `lang` decides the stop words; a word that gives
-- two lexemes shares its weight between them; a word said twice weighs twice. `places` of the words among all words; null for what stands
-- beside them, identifiers and compounds. A compound weighs little: its parts are there as well, and with full weight "x-ray" would count thrice.
-- A figure and its unit weigh half each, for they count as one word as well: 5mg says no more than any two words.
-- Under the analyser of another language than `lang` a word gives its own stem as well, where that is long: metformina is metformin in English
-- too, insulina insulin, ibuprofeno ibuprofen. Short stems are other words there: mano is no man. Compounds of nothing but stop words are none there.
drop function if exists veraz.query_terms(text, text);
create function veraz.query_terms(question text, lang text)
returns table (analyser text, term bigint, lexeme text, weight double precision, places smallint[])
language sql stable parallel safe as $$
    with kept as materialized (
        select place from unnest(to_tsvector(('veraz.lex_' || lang)::regconfig, veraz.searchable(question))) w, unnest(w.positions) place
    ), measure as materialized (
        select e.analyser, tsvector_to_array(veraz.analyse(e.analyser, m.words)) as lexemes
          from veraz.lexical_epoch e, (
               select string_agg(f[1], ' ') as words
                 from regexp_matches(case when question ~ '[0-9]' then veraz.searchable(question) else '' end,
                                     '\y([0-9]+(?:[.,][0-9]+)? (?:[kmcnpµμud]?[glmv]|[mk]?cal|iu|ui|ie|mcg|m?eq|[mnµμ]?mol|mmhg|hz|h|hrs?|min))\y', 'gi') f) m
         where e.tenant_id = veraz.current_tenant() and m.words is not null
    ), word as (
        select e.analyser, w.lexeme, place, m.lexemes as measures
          from veraz.lexical_epoch e
          left join measure m using (analyser)
         cross join lateral unnest(veraz.analyse(e.analyser, question)) w
          left join lateral unnest(w.positions) place on true
         where e.tenant_id = veraz.current_tenant()
           and (place in (select k.place from kept k)
                or (place is null and (e.analyser = lang or w.lexeme ~ '[0-9]' or veraz.compounds(lang, question) <> '{}')))
    ), own_stem as (
        select e.analyser, w.lexeme, place
          from veraz.lexical_epoch e
         cross join lateral unnest(veraz.analyse(lang, question)) w
         cross join lateral unnest(w.positions) place
         where e.tenant_id = veraz.current_tenant() and e.analyser <> lang and length(w.lexeme) >= 5
           and exists (select from word o where o.analyser = e.analyser and o.place = place)
           and not exists (select from word o where o.analyser = e.analyser and o.place = place and o.lexeme = w.lexeme)
    )
    select analyser, veraz.term(lexeme), lexeme, sum(weight), array_agg(place) filter (where place is not null)
      from (select word.analyser, word.lexeme, place,
                   case when place is not null
                        then (case when measures @> array[word.lexeme] then 0.5 else 1 end)
                             / count(*) over (partition by word.analyser, place)
                        when word.lexeme ~ '[0-9]' then 1 else 0.2 end as weight
              from word
            union all
            select own_stem.analyser, own_stem.lexeme, place, 1 from own_stem) v
     group by 1, 2, 3
$$;
