-- Who may read a document beyond any-of labels; which day a revision holds from; editions of one item; keys with names.
-- The owner is blinded by FORCE like everybody else: it is lifted for the copies below, inside this transaction.

alter table veraz.tenant add column name text, add column disabled_at timestamptz;
comment on column veraz.tenant.disabled_at is 'set: no key or token of this tenant is accepted, and the command line refuses it';

alter table veraz.api_key
    add column name text not null default '',
    add column may_write boolean not null default false,
    add check (cardinality(roles) > 0),
    add check (expires_at is null or expires_at > created_at);
create unique index api_key_prefix on veraz.api_key (prefix);
comment on column veraz.api_key.prefix is 'the public beginning of the key: what lists and logs show';
comment on column veraz.api_key.key_hash is 'sha256 of the whole key: 256 random bits need no slow hash';

alter table veraz.document
    add column acl_rule text not null default 'any' check (acl_rule in ('any', 'all', 'owner')),
    add column owner text check (owner <> ''),
    add column readable_from timestamptz,
    add column readable_until timestamptz,
    add column erased_at timestamptz,
    add column superseded_from date,
    add column supersession_pinned boolean not null default false,
    add column purged_number integer not null default 0,
    add column purged_declarations jsonb not null default '[]',
    add check (acl_rule <> 'owner' or owner is not null),
    add check (readable_until > readable_from),
    add check (erased_at is null or (deleted_at is not null and current_revision_id is null));
comment on column veraz.document.acl_rule is 'any: one of the labels opens it; all: every label is needed; owner: only who holds the owner''s label';
comment on column veraz.document.owner is 'a label whose holder may always read it, whatever rule and window say';
comment on column veraz.document.superseded_from is 'the day from which the successor holds, as upstream means it; superseded_at says when it was linked here';
comment on column veraz.document.supersession_pinned is 'an operator said by what it is replaced, or that it is not: what documents declare no longer counts';
comment on column veraz.document.erased_at is 'text and vectors are gone for good; the identity stays, so that the document does not come back by itself';
comment on column veraz.document.purged_number is 'the highest number that a purged revision had: no number is given twice, or an old citation would find another text';
comment on column veraz.document.purged_declarations is 'what purged revisions declared that it replaces, with the first day of each: days before stay as they were';
create index document_deleted on veraz.document (tenant_id, deleted_at) where deleted_at is not null;

-- Upstream's own date, or no beginning where it only says when the revision ended, or the day on which it was taken in.
alter table veraz.revision
    add column item text check (item <> ''),
    add column edition text,
    add column bytes_hash bytea check (length(bytes_hash) = 32),
    add column stated jsonb not null default '{}',
    add column stated_from date generated always as (coalesce(valid_from, revised_at, published_at)) stored,
    add column effective_from date generated always as (
        coalesce(valid_from, revised_at, published_at, case when valid_to is not null then '-infinity'::date end,
                 (ingested_at at time zone 'UTC')::date)) stored;
comment on column veraz.revision.effective_from is 'the day from which it holds: what --as-of compares';
comment on column veraz.revision.item is 'what editions under different external ids have in common: of one source and item the newest supersedes the others';
comment on column veraz.revision.stated is 'what the caller of an ingest stated beside the bytes: it stays as long as the bytes are the same';
comment on column veraz.revision.bytes_hash is 'sha256 of what was read, whatever parser and chunker; null in revisions of schema version 3';
create index revision_effective on veraz.revision (tenant_id, document_id, effective_from desc, number desc) include (revision_id, valid_to);
create index revision_item on veraz.revision (tenant_id, item) where item is not null;

-- The revision of a chunk never changes, so a copy cannot drift; with it a day's revisions are found without reading chunk.
do $$
declare
    t text;
begin
    execute 'alter table veraz.chunk no force row level security';
    for t in select relname from pg_class where relnamespace = 'veraz'::regnamespace and relkind = 'r'
                and (relname = 'chunk_lexical' or relname ~ '^embedding_[0-9]+$') loop
        execute format('alter table veraz.%I no force row level security', t);
        execute format('alter table veraz.%I add column revision_id uuid', t);
        execute format('update veraz.%I e set revision_id = c.revision_id from veraz.chunk c where c.tenant_id = e.tenant_id and c.chunk_id = e.chunk_id', t);
        execute format('alter table veraz.%I alter column revision_id set not null, force row level security', t);
    end loop;
    execute 'alter table veraz.chunk force row level security';
end $$;

-- The planner's statistics keep samples of what they describe, and an erased text must not live on in them. Naming the type again drops
-- the samples that are there.
alter table veraz.revision
    alter column text type text, alter column text set statistics 0, alter column title type text, alter column title set statistics 0,
    alter column url type text, alter column url set statistics 0, alter column meta type jsonb, alter column meta set statistics 0;
alter table veraz.section
    alter column heading type text, alter column heading set statistics 0,
    alter column heading_path type text[], alter column heading_path set statistics 0;
alter table veraz.chunk
    alter column heading_path type text[], alter column heading_path set statistics 0, alter column body type text, alter column body set statistics 0,
    alter column display type text, alter column display set statistics 0, alter column header type text, alter column header set statistics 0;
alter table veraz.chunk_lexical
    alter column tsv type tsvector, alter column tsv set statistics 0,
    alter column bm25 type @extschema@.sparsevec(1000000000), alter column bm25 set statistics 0;
alter table veraz.lexeme_stat alter column lexeme type text, alter column lexeme set statistics 0;
alter table veraz.trace
    alter column question type text, alter column question set statistics 0, alter column record type jsonb, alter column record set statistics 0;
do $$
declare
    e record;
begin
    for e in select c.relname, format_type(a.atttypid, a.atttypmod) as type
               from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'vec'
              where c.relnamespace = 'veraz'::regnamespace and c.relkind = 'r' and c.relname ~ '^embedding_[0-9]+$' loop
        execute format('alter table veraz.%I alter column vec type %s, alter column vec set statistics 0', e.relname, e.type);
    end loop;
end $$;
