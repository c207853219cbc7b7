-- Documents with pages, chunks that the arms read in other words than the reader, and the chunker of a source.

alter table veraz.revision
    add column page_starts integer[] not null default '{}',
    add column dropped integer[] not null default '{}',
    add column dropped_why text[] not null default '{}',
    add constraint revision_dropped check (cardinality(dropped) = 2 * cardinality(dropped_why));
comment on column veraz.revision.page_starts is 'where each page begins in text, from page 1; empty for a text without pages';
comment on column veraz.revision.dropped is 'start, end, start, end …: what of text is in no chunk; white space alone is not listed';

alter table veraz.chunk
    add column embedded text,
    alter column embedded set statistics 0, -- as of all text of documents: samples would outlive an erasure
    add column window_start integer,
    add column window_end integer,
    add constraint chunk_window check (window_start <= start_at and window_end >= end_at),
    add constraint chunk_window_whole check ((window_start is null) = (window_end is null));
comment on column veraz.chunk.embedded is 'what the arms read instead of display; null: display';
comment on column veraz.chunk.window_start is 'window_start to window_end of revision.text is where display stands, if that is more than the chunk';

alter table veraz.chunk
    add column context text not null default '',
    alter column context set statistics 0,
    add column context_key bytea check (length(context_key) = 32),
    add constraint chunk_context_asked check (context = '' or context_key is not null);
comment on column veraz.chunk.context is 'a line that a model wrote about the chunk: the arms read it below the header; it is no text of the document';
comment on column veraz.chunk.context_key is 'sha256 of what the model was asked, and which; null: none was asked';
create index chunk_context on veraz.chunk (tenant_id, context_key) where context_key is not null;

-- Between a model's answer and the revision that holds it: what was paid for must outlive a run that is stopped.
create table veraz.context_draft (
    tenant_id   uuid not null references veraz.tenant,
    document_id uuid not null,
    context_key bytea not null check (length(context_key) = 32),
    context     text not null,
    written_at  timestamptz not null default now(),
    primary key (tenant_id, document_id, context_key)
);
alter table veraz.context_draft alter column context set statistics 0;
create index context_draft_key on veraz.context_draft (tenant_id, context_key);
comment on table veraz.context_draft is 'contexts whose chunks are not written yet; document_id is that of a document that may not be there yet';

alter table veraz.source add column chunker text;
comment on column veraz.source.chunker is 'name and options of the chunker of this source; null: the configured one';
