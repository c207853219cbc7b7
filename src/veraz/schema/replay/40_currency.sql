-- is_current = the document's current revision and not superseded. Chunks are written with it, and refresh_currency alone changes it.

create or replace function veraz.shown_revision(document veraz.document) returns uuid
language sql immutable parallel safe
return case when (document).superseded_by is null then (document).current_revision_id end;

create or replace function veraz.refresh_currency(for_document uuid) returns void
language plpgsql as $$
declare
    tenant   uuid := veraz.current_tenant();
    current_ uuid;
    shown    uuid[];
    hidden   uuid[];
    moved    uuid;
    space    smallint;
begin
    -- before any row is touched: a new epoch takes this lock first as well
    perform pg_advisory_xact_lock_shared(veraz.lexical_lock('epoch', a))
       from (select distinct analyser as a from veraz.chunk_lexical where tenant_id = tenant and document_id = for_document order by 1) x;
    select veraz.shown_revision(d) into current_ from veraz.document d where d.tenant_id = tenant and d.document_id = for_document;
    -- two statements, each with an index of its own: chunks by revision, and the current ones by document
    with changed as (
        update veraz.chunk set is_current = true
         where tenant_id = tenant and revision_id = current_ and not is_current
        returning chunk_id
    )
    select coalesce(array_agg(chunk_id), '{}') into shown from changed;
    with changed as (
        update veraz.chunk set is_current = false
         where tenant_id = tenant and document_id = for_document and is_current and revision_id is distinct from current_
        returning chunk_id
    )
    select coalesce(array_agg(chunk_id), '{}') into hidden from changed;
    if cardinality(shown) + cardinality(hidden) = 0 then
        return;
    end if;
    -- one by one: over an array the planner would read the whole tenant while it has no statistics, as in a first ingest
    foreach moved in array shown || hidden loop
        update veraz.chunk_lexical set is_current = not is_current where tenant_id = tenant and chunk_id = moved;
    end loop;
    for space in select space_id from veraz.embedding_space loop
        foreach moved in array shown || hidden loop
            execute format('update veraz.%I set is_current = not is_current where tenant_id = $1 and chunk_id = $2', 'embedding_' || space)
              using tenant, moved;
        end loop;
    end loop;
    perform veraz.write_posting_delta(shown, 1);
    perform veraz.write_posting_delta(hidden, -1);
end $$;

-- Whether one edition comes after another: by upstream's dates, else by their numbers (3 < 10); editions without either have no order.
create or replace function veraz.is_later(a_from date, a_edition text, b_from date, b_edition text) returns boolean
language sql immutable parallel safe
return coalesce(case when a_from is not null and b_from is not null and a_from <> b_from then a_from > b_from
                     when a_edition ~ '^[0-9]{1,15}$' and b_edition ~ '^[0-9]{1,15}$' then a_edition::bigint > b_edition::bigint end, false);

-- What the revisions of a document say of what it replaces, those that the retention policy let go included.
create or replace function veraz.declarations(of_document uuid)
returns table (supersedes text, item text, edition text, stated_from date, effective_from date) language sql stable as $$
    select r.supersedes, r.item, r.edition, r.stated_from, r.effective_from
      from veraz.revision r where r.tenant_id = veraz.current_tenant() and r.document_id = of_document
    union all
    select p.supersedes, p.item, p.edition, p.stated_from, p.effective_from
      from veraz.document d
     cross join jsonb_to_recordset(d.purged_declarations)
             as p (supersedes text, item text, edition text, stated_from date, effective_from date)
     where d.tenant_id = veraz.current_tenant() and d.document_id = of_document
$$;

-- By which document this one is replaced, as current revisions of its source declare it: one that names its external id, else the next
-- edition of the same item. Of several that name it the newest counts. A deleted document goes on declaring: withdrawn guidance must not
-- come back because its successor went away. It is replaced since the first revision of its successor that declares it: a later one renews
-- the successor, and changes nothing about the days before. Nulls where nothing declares it.
create or replace function veraz.declared_successor(of_document uuid, out successor uuid, out since date)
language sql stable as $$
    with self as (
        select d.document_id, d.source_id, d.external_id, r.item, r.edition, r.stated_from
          from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
         where d.tenant_id = veraz.current_tenant() and d.document_id = of_document
    ), named as (
        select n.document_id, 0 as kind, r.revised_at as newest, null::date as next, null::bigint as number
          from self s
          join veraz.revision r on r.tenant_id = veraz.current_tenant() and r.supersedes = s.external_id
          join veraz.document n on n.tenant_id = r.tenant_id and n.current_revision_id = r.revision_id and n.source_id = s.source_id
         where n.document_id <> s.document_id
    ), later as (
        select n.document_id, 1 as kind, null::date as newest, r.stated_from as next,
               case when r.edition ~ '^[0-9]{1,15}$' then r.edition::bigint end as number
          from self s
          join veraz.revision r on r.tenant_id = veraz.current_tenant() and r.item = s.item
          join veraz.document n on n.tenant_id = r.tenant_id and n.current_revision_id = r.revision_id and n.source_id = s.source_id
         where n.document_id <> s.document_id and s.item is not null and veraz.is_later(r.stated_from, r.edition, s.stated_from, s.edition)
    ), chosen as (
        select document_id, kind
          from (select * from named union all select * from later) d
         order by kind, newest desc nulls last, next nulls last, number nulls last, document_id limit 1
    )
    select c.document_id,
           (select greatest(min(x.effective_from), '0001-01-01'::date)
              from self s, veraz.declarations(c.document_id) x
             where case c.kind when 0 then x.supersedes = s.external_id
                               else x.item = s.item and veraz.is_later(x.stated_from, x.edition, s.stated_from, s.edition) end)
      from chosen c
$$;

-- Links of one tenant are decided one transaction at a time: two that each see half of a cycle would both be let through. Taken before any
-- row is touched, or two writers wait for each other. False where nothing in the tenant replaces anything: most corpora declare no supersession.
create or replace function veraz.lock_supersession(declares boolean) returns boolean
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
begin
    if not declares
       and not exists (select from veraz.revision where tenant_id = tenant and supersedes is not null)
       and not exists (select from veraz.revision where tenant_id = tenant and item is not null)
       and not exists (select from veraz.document where tenant_id = tenant and superseded_by is not null) then
        return false;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('supersession ' || tenant::text, 0));
    return true;
end $$;

-- Follows what the current revisions of a source declare: this document may replace another, or have been replaced before it
-- arrived, or no longer replace what it did. Touched documents are refreshed in the same transaction. A cycle is refused.
-- `stated`: the external id that the caller of an ingest says this document replaces; that is an operator's word, and lasts like one.
-- `made` counts documents that another one replaces now, `removed` those that count again.
drop function if exists veraz.link_supersession(uuid);
create or replace function veraz.link_supersession(for_document uuid, stated text default null, out made integer, out removed integer)
language plpgsql as $$
declare
    tenant  uuid := veraz.current_tenant();
    touched record;
    cycle   text[];
begin
    made := 0; removed := 0;
    if not veraz.lock_supersession(stated is not null) then
        return;
    end if;
    -- what is declared must have no cycle, even where pointers have none yet: several may declare that they replace one document, and
    -- when the newest of them goes, another takes its place
    with recursive chain as (
        select d.source_id, d.external_id, r.supersedes, array[d.external_id] as path
          from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
         where d.tenant_id = tenant and d.document_id = for_document and r.supersedes is not null
        union all
        select d.source_id, d.external_id, r.supersedes, c.path || d.external_id
          from chain c
          join veraz.document d on d.tenant_id = tenant and d.source_id = c.source_id and d.external_id = c.supersedes
          join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
         where r.supersedes is not null and d.external_id <> all (c.path)
    ) select path || supersedes into cycle from chain where supersedes = path[1] limit 1;
    if cycle is not null then
        perform veraz.raise_cycle((select array_agg(id order by i desc) from unnest(cycle) with ordinality u (id, i)));
    end if;
    made := veraz.pin_stated(for_document, stated);
    for touched in
        with self as (
            select d.document_id, d.source_id, d.external_id, r.supersedes, r.item
              from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
             where d.tenant_id = tenant and d.document_id = for_document
        ), concerned as (
            select document_id from self
            union
            select o.document_id from self s
              join veraz.document o on o.tenant_id = tenant and o.source_id = s.source_id and o.external_id = s.supersedes
            union
            select o.document_id from self s
              join veraz.revision e on e.tenant_id = tenant and e.item = s.item
              join veraz.document o on o.tenant_id = tenant and o.current_revision_id = e.revision_id and o.source_id = s.source_id
            union
            select document_id from veraz.document where tenant_id = tenant and superseded_by = for_document
        ), wanted as (
            select c.document_id, w.successor, w.since, o.superseded_by as before
              from concerned c join veraz.document o on o.tenant_id = tenant and o.document_id = c.document_id
             cross join lateral veraz.declared_successor(c.document_id) w
        )
        update veraz.document d
           set superseded_by = w.successor, superseded_from = w.since,
               superseded_at = case when w.successor is null then null
                                    when w.successor is distinct from d.superseded_by then now() else d.superseded_at end
          from wanted w
         where d.tenant_id = tenant and d.document_id = w.document_id and not d.supersession_pinned
           and (d.superseded_by, d.superseded_from) is distinct from (w.successor, w.since)
        returning d.document_id, w.successor, w.before
    loop
        perform veraz.refuse_cycle(touched.document_id);
        perform veraz.refresh_currency(touched.document_id);
        made := made + (touched.successor is not null and touched.successor is distinct from touched.before)::integer;
        removed := removed + (touched.successor is null)::integer;
    end loop;
end $$;

-- The same for documents that one transaction wrote; nothing where the tenant has no supersession.
create or replace function veraz.link_written(documents uuid[], stated text, out made integer, out removed integer)
language plpgsql as $$
declare
    written uuid;
    links   record;
begin
    made := 0; removed := 0;
    if not veraz.lock_supersession(stated is not null) then
        return;
    end if;
    foreach written in array documents loop
        select l.made, l.removed into links from veraz.link_supersession(written, stated) l;
        made := made + links.made;
        removed := removed + links.removed;
    end loop;
end $$;

-- What callers of ingests stated becomes an operator's word: of this document about the one that it replaces, which may not be here yet; and
-- of one that came before about this document, when it arrives. Returns how many links that made.
create or replace function veraz.pin_stated(for_document uuid, stated text) returns integer
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
    made   integer := 0;
    link   record;
begin
    for link in
        select o.document_id as old, for_document as new, stated as named, o.superseded_by as before, o.superseded_from
          from veraz.document s
          join veraz.document o on o.tenant_id = tenant and o.source_id = s.source_id and o.external_id = stated
         where s.tenant_id = tenant and s.document_id = for_document and o.document_id <> for_document and o.current_revision_id is not null
        union all
        select s.document_id, w.document_id, s.external_id, s.superseded_by, s.superseded_from
          from veraz.document s
         cross join lateral (
                select n.document_id
                  from veraz.revision r
                  join veraz.document n on n.tenant_id = tenant and n.document_id = r.document_id and n.source_id = s.source_id
                 where r.tenant_id = tenant and r.supersedes = s.external_id and r.stated ->> 'supersedes' = s.external_id
                   and not exists (select from veraz.revision c
                                    where c.tenant_id = tenant and c.document_id = r.document_id and c.number > r.number
                                      and c.stated ->> 'supersedes' <> s.external_id)
                 order by r.ingested_at desc, n.document_id limit 1) w
         where s.tenant_id = tenant and s.document_id = for_document and not s.supersession_pinned and s.purged_number = 0
           and not exists (select from veraz.revision r where r.tenant_id = tenant and r.document_id = for_document and r.number > 1)
    loop
        perform veraz.pin_supersession(link.old, link.new, least(
            case when link.before = link.new then link.superseded_from end,
            (select greatest(min(x.effective_from), '0001-01-01'::date) from veraz.declarations(link.new) x where x.supersedes = link.named)));
        made := made + (link.before is distinct from link.new)::integer;
    end loop;
    return made;
end $$;

create or replace function veraz.refuse_cycle(from_document uuid) returns void
language plpgsql as $$
declare
    cycle text[];
begin
    with recursive chain as (
        select superseded_by as document_id, array[external_id] as path, array[document_id] as seen from veraz.document
         where tenant_id = veraz.current_tenant() and document_id = from_document and superseded_by is not null
        union all
        select d.superseded_by, c.path || d.external_id, c.seen || d.document_id
          from chain c join veraz.document d on d.tenant_id = veraz.current_tenant() and d.document_id = c.document_id
         where d.superseded_by is not null and d.document_id <> all (c.seen)
    ) select path || path[1] into cycle from chain where document_id = from_document limit 1;
    if cycle is not null then
        perform veraz.raise_cycle(cycle);
    end if;
end $$;

-- Each of these documents would be replaced by the next, and the last is the first.
create or replace function veraz.raise_cycle(chain text[]) returns void
language plpgsql as $$
begin
    if cardinality(chain) > 12 then
        chain := chain[:6] || '…'::text || chain[cardinality(chain) - 4:];
    end if;
    raise exception 'supersession would form a cycle: % (each replaced by the next)', array_to_string(chain, ' → ')
        using errcode = 'integrity_constraint_violation';
end $$;

-- An operator's word: this document is replaced by that one (null: by none), whatever documents declare.
create or replace function veraz.pin_supersession(of_document uuid, by_document uuid, since date) returns void
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
begin
    perform veraz.lock_supersession(true);
    update veraz.document
       set supersession_pinned = true, superseded_by = by_document,
           superseded_at = case when by_document is null then null when superseded_by is distinct from by_document then now() else superseded_at end,
           superseded_from = case when by_document is not null then coalesce(since, current_date) end
     where tenant_id = tenant and document_id = of_document;
    perform veraz.refuse_cycle(of_document);
    perform veraz.refresh_currency(of_document);
end $$;

-- Takes the operator's word back: what documents declare counts again.
create or replace function veraz.unpin_supersession(of_document uuid) returns void
language plpgsql as $$
begin
    update veraz.document set supersession_pinned = false where tenant_id = veraz.current_tenant() and document_id = of_document;
    perform veraz.link_supersession(of_document);
end $$;
