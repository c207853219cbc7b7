-- Which approximate index the semantic arm of a space walks, with what it was built with, and since when.

alter table veraz.embedding_space
    add column index_kind     text not null default 'hnsw' check (index_kind in ('hnsw', 'ivfflat', 'binary', 'none')),
    add column index_options  jsonb not null default '{}',
    add column index_built_at timestamptz;
comment on column veraz.embedding_space.index_kind is 'the index is veraz.embedding_<space_id>_<index_kind>; none: every vector is compared';
comment on column veraz.embedding_space.index_options is 'what it was built with, and how far a search looks unless told otherwise';
