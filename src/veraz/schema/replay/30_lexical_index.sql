-- The inverted file: deltas written by each transaction, merged into blocks of falling impact in the background.

-- Two advisory locks per tenant and analyser. 'epoch': writers share it, a new epoch takes it alone. 'merge': one merge at a time.
create or replace function veraz.lexical_lock(purpose text, analyser text) returns bigint
language sql stable
return hashtextextended(purpose || ' ' || veraz.current_tenant()::text || ' ' || analyser, 0);

-- Writes the lexical rows of new chunks, and the postings of those that are current, as delta blocks of this transaction: see
-- write_posting_delta. The text is analysed once. analysers: of each chunk, in order.
-- title_weight: how often the words of title and headings count, as if they were written so often. Returns how many rows it wrote.
drop function if exists veraz.index_revision(uuid, text);
drop function if exists veraz.index_revision(uuid, text[]);
drop function if exists veraz.index_chunks(uuid[], text[]);
create or replace function veraz.index_chunks(chunk_ids uuid[], analysers text[], title_weight integer) returns integer
language plpgsql as $$
declare
    tenant  uuid := veraz.current_tenant();
    used    text;
    delta   integer;
    added   integer;
    written integer := 0;
begin
    for used in select distinct a from unnest(analysers) a order by a loop
        insert into veraz.lexical_epoch (tenant_id, analyser) values (tenant, used) on conflict do nothing;
        perform pg_advisory_xact_lock_shared(veraz.lexical_lock('epoch', used));
    end loop;
    for start in 1 .. cardinality(chunk_ids) by 640 loop
        delta := nextval('veraz.posting_delta');
        with analysed as materialized (
            select c.chunk_id, c.document_id, c.revision_id, c.is_current, w.analyser, e.reference_length,
                   veraz.analyse(w.analyser, concat_ws(E'\n\n', repeat(nullif(c.header, '') || E'\n\n', title_weight), nullif(c.context, ''), coalesce(c.embedded, c.display))) as tsv
              from unnest(chunk_ids[start : start + 639], analysers[start : start + 639]) w (chunk_id, analyser)
             cross join lateral (
                    select chunk_id, document_id, revision_id, is_current, header, context, embedded, display
                      from veraz.chunk where tenant_id = tenant and chunk_id = w.chunk_id offset 0) c
             cross join lateral (
                    select reference_length from veraz.lexical_epoch where tenant_id = tenant and analyser = w.analyser offset 0) e
        ), measured as materialized (
            select *, veraz.token_length(tsv) as length from analysed
        ), lexical as (
            insert into veraz.chunk_lexical (tenant_id, chunk_id, document_id, revision_id, analyser, length, is_current, bm25, tsv)
            select tenant, chunk_id, document_id, revision_id, analyser, length, is_current,
                   veraz.document_vector(tsv, length, reference_length), tsv
              from measured
            returning chunk_no, analyser, length, is_current, tsv
        ), shown as materialized (
            select l.*, e.reference_length
              from lexical l
             cross join lateral (
                    select reference_length from veraz.lexical_epoch where tenant_id = tenant and analyser = l.analyser offset 0) e
             where l.is_current
        ), posted as (
            insert into veraz.posting (tenant_id, analyser, term, block, n, chunk_nos, impacts)
            select tenant, analyser, veraz.term(lexeme), delta, count(*), array_agg(chunk_no),
                   array_agg(veraz.impact(coalesce(cardinality(positions), 1), length, reference_length))
              from shown, unnest(tsv) group by 2, 3
        ), counted as (
            insert into veraz.lexical_stat (tenant_id, analyser, block, chunks, length, postings)
            select tenant, analyser, delta, count(*), sum(length), sum(length(tsv)) from shown group by 2
        )
        select count(*) into added from lexical;
        written := written + added;
    end loop;
    return written;
end $$;

-- A posting's weight, as blocks hold it: 13,000 times the saturated term frequency, which is at most 2.5.
create or replace function veraz.impact(tf integer, length integer, reference_length real) returns smallint
language sql immutable parallel safe strict
return round(13000 * veraz.saturation(tf, length, reference_length))::smallint;

-- Adds (sign +1) or takes away (-1) chunks in the inverted file, as delta blocks of this transaction: one for every 640 chunks,
-- because a word of the title is in all of them, and 1,300 postings of one term do not fit a page.
create or replace function veraz.write_posting_delta(chunk_ids uuid[], sign integer) returns void
language plpgsql as $$
declare
    delta integer;
begin
    for start in 1 .. cardinality(chunk_ids) by 640 loop
        delta := nextval('veraz.posting_delta');
        with moved as materialized (
            select l.tenant_id, l.analyser, l.chunk_no, l.length, l.tsv, e.reference_length
              from unnest(chunk_ids[start : start + 639]) w (chunk_id)
             cross join lateral (
                    select * from veraz.chunk_lexical where tenant_id = veraz.current_tenant() and chunk_id = w.chunk_id offset 0) l
             cross join lateral (
                    select reference_length from veraz.lexical_epoch where tenant_id = l.tenant_id and analyser = l.analyser offset 0) e
        ), posted as (
            insert into veraz.posting (tenant_id, analyser, term, block, n, chunk_nos, impacts)
            select tenant_id, analyser, veraz.term(lexeme), delta, sign * count(*), array_agg(chunk_no),
                   array_agg(veraz.impact(coalesce(cardinality(positions), 1), length, reference_length))
              from moved, unnest(tsv) group by 1, 2, 3
        )
        insert into veraz.lexical_stat (tenant_id, analyser, block, chunks, length, postings)
        select tenant_id, analyser, delta, sign * count(*), sign * sum(length), sum(length(tsv))
          from moved group by 1, 2;
    end loop;
end $$;

-- Average lengths are kept on a geometric grid (steps of 1.25 around 100), so that the reference length is a function of the
-- corpus and not of the path by which it grew, and small changes move nothing.
create or replace function veraz.grid_length(average double precision) returns real
language sql immutable parallel safe strict
return (100 * power(1.25, round(ln(greatest(average, 1) / 100) / ln(1.25))))::real;

-- Flattened postings, in falling impact, cut into blocks. 640 postings fill half a page.
create or replace function veraz.rebuild_postings(for_analyser text) returns void
language plpgsql as $$
begin
    delete from veraz.posting where tenant_id = veraz.current_tenant() and analyser = for_analyser;
    insert into veraz.posting (tenant_id, analyser, term, block, n, chunk_nos, impacts)
    select veraz.current_tenant(), for_analyser, term, i / 640, count(*), array_agg(chunk_no order by i), array_agg(impact order by i)
      from (select term, chunk_no, impact, (row_number() over (partition by term order by impact desc, chunk_no) - 1)::integer as i
              from (select veraz.term(lexeme) as term, chunk_no,
                           veraz.impact(coalesce(cardinality(positions), 1), length, reference_length) as impact
                      from veraz.chunk_lexical l join veraz.lexical_epoch e using (tenant_id, analyser), unnest(l.tsv)
                     where l.tenant_id = veraz.current_tenant() and l.analyser = for_analyser and l.is_current) flat) numbered
     group by term, i / 640;
end $$;

-- A new statistics epoch: every document vector and impact is computed again with the new reference length.
-- Writers of this tenant and analyser wait; readers see the old epoch until the commit.
create or replace function veraz.start_epoch(for_analyser text, new_length real) returns void
language plpgsql as $$
begin
    update veraz.lexical_epoch set reference_length = new_length, epoch = epoch + 1, since = now()
     where tenant_id = veraz.current_tenant() and analyser = for_analyser;
    update veraz.chunk_lexical set bm25 = veraz.document_vector(tsv, length, new_length)
     where tenant_id = veraz.current_tenant() and analyser = for_analyser;
    perform veraz.rebuild_postings(for_analyser);
end $$;

-- Rewrites the blocks of every term that the deltas touch.
create or replace function veraz.merge_blocks(for_analyser text, deltas integer[]) returns void
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
begin
    with touched as materialized (
        select distinct term from veraz.posting where tenant_id = tenant and analyser = for_analyser and block = any (deltas)
    ), held as (
        -- by the key, term after term, and then by place: without statistics a join of rows with terms is planned as a loop over both
        select h.place from touched t
         cross join lateral (
                select ctid as place from veraz.posting
                 where tenant_id = tenant and analyser = for_analyser and term = t.term and (block >= 0 or block = any (deltas)) offset 0) h
    ), gone as (
        delete from veraz.posting p using held h
         where p.ctid = h.place and p.tenant_id = tenant and p.analyser = for_analyser
        returning p.term, p.n, p.chunk_nos, p.impacts
    ), net as (
        select term, u.chunk_no, u.impact from gone, unnest(chunk_nos, impacts) u (chunk_no, impact)
         group by 1, 2, 3 having sum(sign(n)) > 0
    ), numbered as (
        select *, (row_number() over (partition by term order by impact desc, chunk_no) - 1)::integer as i from net
    )
    insert into veraz.posting (tenant_id, analyser, term, block, n, chunk_nos, impacts)
    select tenant, for_analyser, term, i / 640, count(*), array_agg(chunk_no order by i), array_agg(impact order by i)
      from numbered group by term, i / 640;
end $$;

-- Merges the deltas that are visible now into blocks. Returns the number of postings taken in.
create or replace function veraz.merge_postings(for_analyser text) returns bigint
language plpgsql as $$
declare
    tenant  uuid := veraz.current_tenant();
    taken   integer[];
    merged  bigint;
    wanted  real;
    present real;
begin
    perform pg_advisory_xact_lock(veraz.lexical_lock('merge', for_analyser));
    select veraz.grid_length(sum(length)::double precision / nullif(sum(chunks), 0)) into wanted
      from veraz.lexical_stat where tenant_id = tenant and analyser = for_analyser;
    select reference_length into present from veraz.lexical_epoch where tenant_id = tenant and analyser = for_analyser;
    if wanted is not null and wanted <> present then
        perform pg_advisory_xact_lock(veraz.lexical_lock('epoch', for_analyser));
    end if;
    -- only these deltas are merged, here and below: a writer may commit another between two statements
    select array_agg(block), coalesce(sum(postings), 0) into taken, merged
      from veraz.lexical_stat where tenant_id = tenant and analyser = for_analyser and block < 0;
    if taken is null then
        return 0;
    end if;
    -- chunk by chunk, by the key: a join would be planned without statistics while a corpus is being loaded
    insert into veraz.lexeme_stat (tenant_id, analyser, term, lexeme)
    select distinct tenant, for_analyser, veraz.term(w.lexeme), w.lexeme
      from (select distinct unnest(chunk_nos) as chunk_no from veraz.posting
             where tenant_id = tenant and analyser = for_analyser and block = any (taken) and n > 0) c
     cross join lateral (
            select tsv from veraz.chunk_lexical where tenant_id = tenant and chunk_no = c.chunk_no offset 0) l
     cross join lateral unnest(l.tsv) w
    on conflict do nothing;
    if wanted is not null and wanted <> present then
        perform veraz.start_epoch(for_analyser, wanted);
    else
        perform veraz.merge_blocks(for_analyser, taken);
    end if;
    with gone as (
        delete from veraz.lexical_stat
         where tenant_id = tenant and analyser = for_analyser and (block = 0 or block = any (taken))
        returning chunks, length
    )
    insert into veraz.lexical_stat (tenant_id, analyser, block, chunks, length, postings)
    select tenant, for_analyser, 0, sum(chunks), sum(length),
           (select coalesce(sum(n), 0) from veraz.posting where tenant_id = tenant and analyser = for_analyser and block >= 0)
      from gone;
    return merged;
end $$;
