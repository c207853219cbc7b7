-- Taking text away for good: erasure on request, and what the retention policy lets go. The maintenance role runs these; the runtime login
-- may not delete what it serves.

-- Keeps merges out until the commit: one that began earlier would write words of the text into the vocabulary after they were removed.
-- The first lock of whoever takes it.
create or replace function veraz.hold_merges() returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(veraz.lexical_lock('merge', a))
       from (select analyser as a from veraz.lexical_epoch where tenant_id = veraz.current_tenant() order by 1) x;
end $$;

-- What is left to remember of revisions that go: what they declared, and the first day of each declaration. That day must not move when
-- the revision that began it is let go, or --as-of would show what was withdrawn by then.
create or replace function veraz.declarations_without(of_document uuid, doomed uuid[]) returns jsonb
language sql stable as $$
    select coalesce(jsonb_agg(to_jsonb(k) order by k), '[]')
      from (select x.supersedes, x.item, x.edition, x.stated_from, min(x.effective_from) as effective_from
              from (select r.supersedes, r.item, r.edition, r.stated_from, r.effective_from
                      from veraz.revision r
                     where r.tenant_id = veraz.current_tenant() and r.document_id = of_document and r.revision_id = any (doomed)
                       and (r.supersedes is not null or r.item is not null)
                    union all
                    select p.supersedes, p.item, p.edition, p.stated_from, p.effective_from
                      from veraz.document d
                     cross join jsonb_to_recordset(d.purged_declarations)
                             as p (supersedes text, item text, edition text, stated_from date, effective_from date)
                     where d.tenant_id = veraz.current_tenant() and d.document_id = of_document) x
             group by x.supersedes, x.item, x.edition, x.stated_from) k
$$;

-- Removes revisions of one document with everything that was made of them. None of their chunks may be current. Words that no searchable
-- chunk has leave the vocabulary; a merge brings one back when a chunk does.
create or replace function veraz.purge_revisions(of_document uuid, doomed uuid[], out revisions integer, out chunks integer)
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
begin
    update veraz.document d
       set purged_number = greatest(d.purged_number, (select max(number) from veraz.revision where tenant_id = tenant and revision_id = any (doomed))),
           purged_declarations = veraz.declarations_without(of_document, doomed)
     where d.tenant_id = tenant and d.document_id = of_document;
    with words as materialized (
        select distinct l.analyser, veraz.term(t.lexeme) as term
          from veraz.chunk_lexical l, unnest(l.tsv) t
         where l.tenant_id = tenant and l.document_id = of_document and l.revision_id = any (doomed)
    )
    delete from veraz.lexeme_stat s using words w
     where s.tenant_id = tenant and s.analyser = w.analyser and s.term = w.term
       and coalesce((select sum(p.n) from veraz.posting p
                      where p.tenant_id = tenant and p.analyser = w.analyser and p.term = w.term), 0) = 0;
    delete from veraz.context_draft where tenant_id = tenant and document_id = of_document;
    delete from veraz.ingest_failure where tenant_id = tenant and document_id = of_document;
    delete from veraz.chunk where tenant_id = tenant and revision_id = any (doomed);
    get diagnostics chunks = row_count;
    delete from veraz.section where tenant_id = tenant and revision_id = any (doomed);
    delete from veraz.revision where tenant_id = tenant and document_id = of_document and revision_id = any (doomed);
    get diagnostics revisions = row_count;
end $$;

-- Leaves the identity of a document and nothing else. What it superseded stays superseded: an operator has to say that it counts again.
create or replace function veraz.empty_document(of_document uuid, out revisions integer, out chunks integer)
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
begin
    update veraz.document set supersession_pinned = true where tenant_id = tenant and superseded_by = of_document;
    update veraz.document
       set deleted_at = coalesce(deleted_at, now()), current_revision_id = null,
           superseded_by = case when supersession_pinned then superseded_by end,
           superseded_at = case when supersession_pinned then superseded_at end,
           superseded_from = case when supersession_pinned then superseded_from end
     where tenant_id = tenant and document_id = of_document;
    perform veraz.refresh_currency(of_document);
    select p.revisions, p.chunks into revisions, chunks
      from veraz.purge_revisions(of_document, array(select revision_id from veraz.revision
                                                     where tenant_id = tenant and document_id = of_document)) p;
    update veraz.document set purged_declarations = '[]' where tenant_id = tenant and document_id = of_document;
end $$;

create or replace function veraz.erase_document(of_document uuid, out revisions integer, out chunks integer)
language plpgsql as $$
begin
    perform veraz.hold_merges();
    perform veraz.lock_supersession(true);
    perform pg_advisory_xact_lock(hashtextextended('document ' || of_document::text, 0));
    perform veraz.hold_merges(); -- of an analyser that came with an ingest meanwhile, too
    select e.revisions, e.chunks into revisions, chunks from veraz.empty_document(of_document) e;
    update veraz.document set erased_at = coalesce(erased_at, now())
     where tenant_id = veraz.current_tenant() and document_id = of_document;
end $$;

-- What a trace may keep once a document that it names was erased: ids, places, scores and settings. Whatever is not listed goes, so that a
-- field that is added later goes as well.
create or replace function veraz.erased_entries(entries jsonb) returns jsonb
language sql immutable parallel safe as $$
    select coalesce(jsonb_agg((select coalesce(jsonb_object_agg(f.key, f.value), '{}')
                                 from jsonb_each(e.value) f
                                where f.key in ('n', 'rank', 'score', 'chunk_id', 'source', 'external_id', 'revision', 'ord', 'start', 'end', 'page',
                                                'lexical', 'semantic', 'superseded_by', 'authority', 'lang', 'is_current', 'current_revision',
                                                'revised_at', 'current_since', 'valid_to'))
                              order by e.ordinality), '[]')
      from jsonb_array_elements(entries) with ordinality e
$$;

create or replace function veraz.erased_record(record jsonb) returns jsonb
language sql immutable parallel safe as $$
    select coalesce(jsonb_object_agg(f.key, case f.key
               when 'hits' then veraz.erased_entries(f.value)
               when 'citations' then veraz.erased_entries(f.value)
               when 'superseded' then veraz.erased_entries(f.value)
               when 'dropped' then (select coalesce(jsonb_agg(jsonb_build_object('why', '[erased]')), '[]') from jsonb_array_elements(f.value))
               else f.value end), '{}')
      from jsonb_each(record) f
     where f.key in ('hits', 'citations', 'superseded', 'dropped', 'claims', 'conflicts', 'lang', 'mode', 'config', 'timings_ms', 'shortfall',
                     'as_of', 'outcome', 'uncertain', 'sufficiency', 'threshold', 'access', 'usage', 'answer_timings_ms', 'signals')
$$;

-- Revisions that a policy lets go: not current, retired for more than so many days and beyond the newest so many; a limit that is null
-- does not count, and two nulls keep everything. A revision goes only when all earlier ones may go as well, or --as-of would show
-- an earlier one for its days.
create or replace function veraz.expired_revisions(days integer, keep integer, from_document uuid)
returns table (document_id uuid, revision_id uuid, place bigint) language sql stable as $$
    select h.document_id, h.revision_id, h.place
      from (select r.document_id, r.revision_id,
                   row_number() over (partition by r.document_id order by r.effective_from desc, r.number desc) as place,
                   max(r.retired_at) over (partition by r.document_id order by r.effective_from, r.number) as retired
              from veraz.revision r
              join veraz.document d on d.tenant_id = r.tenant_id and d.document_id = r.document_id
             where r.tenant_id = veraz.current_tenant() and r.document_id >= from_document
               and r.revision_id is distinct from d.current_revision_id) h
     where (days is not null or keep is not null)
       and (days is null or h.retired < now() - make_interval(days => days))
       and (keep is null or h.place > keep)
$$;

-- One batch of them, beginning with a document. Documents that a writer holds are left for later, not waited for.
create or replace function veraz.purge_history(
    days integer, keep integer, from_document uuid, passed uuid[], batch integer,
    out next_document uuid, out busy uuid[], out revisions integer, out chunks integer)
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
    doomed record;
    done   record;
begin
    perform veraz.hold_merges();
    busy := '{}'; revisions := 0; chunks := 0;
    for doomed in
        select e.document_id, array_agg(e.revision_id) as revision_ids
          from (select x.document_id, x.revision_id from veraz.expired_revisions(days, keep, from_document) x
                 where x.document_id <> all (passed) order by x.document_id, x.place desc limit batch) e
         group by e.document_id order by e.document_id
    loop
        next_document := doomed.document_id;
        perform from veraz.document where tenant_id = tenant and document_id = doomed.document_id for no key update skip locked;
        if not found then
            busy := busy || doomed.document_id;
            continue;
        end if;
        select * into done from veraz.purge_revisions(doomed.document_id, doomed.revision_ids);
        revisions := revisions + done.revisions;
        chunks := chunks + done.chunks;
    end loop;
end $$;

-- Deleted documents whose time is over: all but those that hold nothing any more and stand only because another one names them.
create or replace function veraz.expired_documents(days integer)
returns table (document_id uuid) language sql stable as $$
    select d.document_id from veraz.document d
     where d.tenant_id = veraz.current_tenant() and d.erased_at is null and d.deleted_at < now() - make_interval(days => days)
       and (d.current_revision_id is not null
            or exists (select from veraz.revision r where r.tenant_id = d.tenant_id and r.document_id = d.document_id)
            or not exists (select from veraz.document o where o.tenant_id = d.tenant_id and o.superseded_by = d.document_id))
$$;

-- One of them. The row goes too, unless another document names it as its successor: then a tombstone stays. Nulls where a writer holds it
-- or it came back meanwhile.
create or replace function veraz.purge_document(
    of_document uuid, days integer, out revisions integer, out chunks integer, out tombstone boolean)
language plpgsql as $$
declare
    tenant uuid := veraz.current_tenant();
begin
    perform veraz.hold_merges();
    perform veraz.lock_supersession(true);
    if not pg_try_advisory_xact_lock(hashtextextended('document ' || of_document::text, 0)) then
        return;
    end if;
    perform from veraz.document where tenant_id = tenant and document_id = of_document for update skip locked;
    if not found or not exists (select from veraz.expired_documents(days) e where e.document_id = of_document) then
        return;
    end if;
    select e.revisions, e.chunks into revisions, chunks from veraz.empty_document(of_document) e;
    tombstone := exists (select from veraz.document where tenant_id = tenant and superseded_by = of_document);
    if not tombstone then
        delete from veraz.document where tenant_id = tenant and document_id = of_document;
    end if;
end $$;
