-- is_current = the document's current revision and not superseded. This function is the only writer of that column.

create or replace function veraz.refresh_currency(for_document uuid) returns void
language plpgsql as $$
declare
    tenant   uuid := veraz.current_tenant();
    current_ uuid;
    shown    uuid[];
    hidden   uuid[];
    space    smallint;
begin
    -- before any row is touched: a new epoch takes this lock first as well
    perform pg_advisory_xact_lock_shared(veraz.lexical_lock('epoch', a))
       from (select distinct analyser as a from veraz.chunk_lexical where tenant_id = tenant and document_id = for_document order by 1) x;
    select case when superseded_by is null then current_revision_id end into current_
      from veraz.document where tenant_id = tenant and document_id = for_document;
    with changed as (
        update veraz.chunk set is_current = (revision_id is not distinct from current_)
         where tenant_id = tenant and document_id = for_document
           and is_current <> (revision_id is not distinct from current_)
        returning chunk_id, is_current
    )
    select coalesce(array_agg(chunk_id) filter (where is_current), '{}'), coalesce(array_agg(chunk_id) filter (where not is_current), '{}')
      into shown, hidden from changed;
    if cardinality(shown) + cardinality(hidden) = 0 then
        return;
    end if;
    update veraz.chunk_lexical set is_current = (chunk_id = any (shown))
     where tenant_id = tenant and chunk_id = any (shown || hidden);
    for space in select space_id from veraz.embedding_space loop
        execute format('update veraz.%I set is_current = (chunk_id = any ($1)) where tenant_id = $2 and chunk_id = any ($1 || $3)',
                       'embedding_' || space) using shown, tenant, hidden;
    end loop;
    perform veraz.write_posting_delta(shown, 1);
    perform veraz.write_posting_delta(hidden, -1);
end $$;

-- Follows what the current revisions of a source declare: this document may replace another, or have been replaced before it
-- arrived, or no longer replace what it did. Of several that replace one document the newest is the successor. Touched documents
-- are refreshed in the same transaction. A document declares at most one predecessor, so a cycle is a chain that comes back.
create or replace function veraz.link_supersession(for_document uuid) returns integer
language plpgsql as $$
declare
    tenant  uuid := veraz.current_tenant();
    touched uuid;
    links   integer := 0;
begin
    -- two probes of two small partial indexes: most corpora declare no supersession
    if not exists (select from veraz.revision where tenant_id = tenant and supersedes is not null)
       and not exists (select from veraz.document where tenant_id = tenant and superseded_by is not null) then
        return 0;
    end if;
    if exists (
        with recursive chain as (
            select d.source_id, d.external_id, r.supersedes
              from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
             where d.tenant_id = tenant and d.document_id = for_document and r.supersedes is not null
            union
            select d.source_id, d.external_id, r.supersedes
              from chain c
              join veraz.document d on d.tenant_id = tenant and d.source_id = c.source_id and d.external_id = c.supersedes
              join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
             where r.supersedes is not null
        ) select from chain where supersedes = (select external_id from veraz.document where tenant_id = tenant and document_id = for_document)
    ) then
        raise exception 'supersession would form a cycle' using errcode = 'integrity_constraint_violation';
    end if;
    for touched in
        with self as (
            select d.source_id, d.external_id, r.supersedes
              from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
             where d.tenant_id = tenant and d.document_id = for_document
        ), concerned as (
            select o.document_id, o.source_id, o.external_id
              from self s
              join veraz.document o on o.tenant_id = tenant and o.source_id = s.source_id and o.external_id in (s.supersedes, s.external_id)
            union
            select document_id, source_id, external_id from veraz.document where tenant_id = tenant and superseded_by = for_document
        ), wanted as (
            select c.document_id as replaced,
                   (select n.document_id
                      from veraz.revision r
                      join veraz.document n on n.tenant_id = tenant and n.document_id = r.document_id and n.current_revision_id = r.revision_id
                     where r.tenant_id = tenant and r.supersedes = c.external_id and n.source_id = c.source_id
                     order by r.revised_at desc nulls last, n.document_id limit 1) as successor
              from concerned c
        )
        update veraz.document d
           set superseded_by = w.successor, superseded_at = case when w.successor is not null then now() end
          from wanted w
         where d.tenant_id = tenant and d.document_id = w.replaced and d.superseded_by is distinct from w.successor
        returning d.document_id
    loop
        perform veraz.refresh_currency(touched);
        links := links + 1;
    end loop;
    return links;
end $$;
