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

alter table veraz.source add column chunker text;
comment on column veraz.source.chunker is 'name and options of the chunker of this source; null: the configured one';
