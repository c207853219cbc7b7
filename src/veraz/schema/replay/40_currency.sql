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
    perform pg_advisory_xact_lock_shared(veraz.lexical_lock('epoch', a))
       from (select distinct analyser as a from veraz.chunk_lexical where tenant_id = tenant and chunk_id = any (shown || hidden) order by 1) x;
    perform veraz.write_posting_delta(shown, 1);
    perform veraz.write_posting_delta(hidden, -1);
end $$;

-- Follows what the current revisions of a source declare: this document may replace another, or have been replaced before it
-- arrived. Touched documents are refreshed in the same transaction. A cycle is refused.
create or replace function veraz.link_supersession(for_document uuid) returns integer
language plpgsql as $$
declare
    tenant  uuid := veraz.current_tenant();
    touched uuid;
    links   integer := 0;
begin
    for touched in
        with self as (
            select d.document_id, d.source_id, d.external_id, r.supersedes
              from veraz.document d join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
             where d.tenant_id = tenant and d.document_id = for_document
        ), wanted as (
            select o.document_id as replaced, s.document_id as successor
              from self s join veraz.document o on o.tenant_id = tenant and o.source_id = s.source_id and o.external_id = s.supersedes
            union
            select s.document_id, o.document_id
              from self s join veraz.revision r on r.tenant_id = tenant and r.supersedes = s.external_id
                          join veraz.document o on o.tenant_id = tenant and o.source_id = s.source_id and o.current_revision_id = r.revision_id
            union
            select o.document_id, null
              from veraz.document o, self s
             where o.tenant_id = tenant and o.superseded_by = for_document and o.external_id is distinct from s.supersedes
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
    if links > 0 and exists (
        with recursive chain (document_id) as (
            select superseded_by from veraz.document where tenant_id = tenant and document_id = for_document and superseded_by is not null
            union
            select d.superseded_by from veraz.document d join chain c on c.document_id = d.document_id
             where d.tenant_id = tenant and d.superseded_by is not null
        ) select from chain where document_id = for_document
    ) then
        raise exception 'supersession would form a cycle' using errcode = 'integrity_constraint_violation';
    end if;
    return links;
end $$;
