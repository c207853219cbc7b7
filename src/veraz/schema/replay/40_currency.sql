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
