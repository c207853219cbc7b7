-- Sources, documents, immutable revisions with a current pointer, sections and chunks.
-- Every table carries the tenant in its key, and every foreign key carries it too: no reference can cross tenants.

create table veraz.tenant (
    tenant_id   uuid primary key default gen_random_uuid(),
    slug        text not null unique check (slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    settings    jsonb not null default '{}',
    created_at  timestamptz not null default now()
);

create table veraz.source (
    tenant_id    uuid not null references veraz.tenant,
    source_id    uuid not null default gen_random_uuid(),
    slug         text not null check (slug ~ '^[a-z0-9][a-z0-9_.-]{0,62}$'),
    name         text not null,
    license      text,
    jurisdiction text,
    authority    smallint not null default 3 check (authority between 1 and 5),
    base_url     text,
    created_at   timestamptz not null default now(),
    primary key (tenant_id, source_id),
    unique (tenant_id, slug)
);

create table veraz.document (
    tenant_id           uuid not null references veraz.tenant,
    document_id         uuid not null,
    source_id           uuid not null,
    external_id         text not null check (external_id <> '' and length(external_id) <= 1000),
    document_type       text,
    acl                 text[] not null default '{public}' check (cardinality(acl) > 0),
    deleted_at          timestamptz,
    current_revision_id uuid,
    superseded_by       uuid,
    superseded_at       timestamptz,
    created_at          timestamptz not null default now(),
    primary key (tenant_id, document_id),
    unique (tenant_id, source_id, external_id),
    foreign key (tenant_id, source_id) references veraz.source,
    foreign key (tenant_id, superseded_by) references veraz.document,
    check (superseded_by <> document_id),
    check ((superseded_by is null) = (superseded_at is null))
);
create index document_superseded on veraz.document (tenant_id, superseded_by) where superseded_by is not null;
comment on column veraz.document.superseded_by is 'the document that replaces this one; a pointer, never a boolean';

create table veraz.revision (
    tenant_id    uuid not null,
    revision_id  uuid not null,
    document_id  uuid not null,
    number       integer not null check (number > 0),
    text         text not null,
    title        text not null,
    url          text,
    lang         text not null,
    publisher    text,
    license      text,
    jurisdiction text,
    published_at date,
    revised_at   date,
    valid_from   date,
    valid_to     date,
    supersedes   text,
    ingested_at  timestamptz not null default now(),
    retired_at   timestamptz,
    raw_hash     bytea not null check (length(raw_hash) = 32),
    media        text not null,
    parser       text not null,
    chunker      text not null,
    meta         jsonb not null default '{}',
    primary key (tenant_id, revision_id),
    unique (tenant_id, document_id, number),
    unique (tenant_id, document_id, revision_id),
    foreign key (tenant_id, document_id) references veraz.document,
    check (valid_from is null or valid_to is null or valid_from <= valid_to)
);
comment on column veraz.revision.text is 'decoded, NUL-free text as parsed; all offsets are code points into it';
comment on column veraz.revision.supersedes is 'external id, in the same source, of the document that this one says it replaces';
create index revision_supersedes on veraz.revision (tenant_id, supersedes) where supersedes is not null;
comment on column veraz.revision.valid_from is 'as upstream means it; ingested_at/retired_at say when it was current here';

alter table veraz.document
    add foreign key (tenant_id, document_id, current_revision_id)
        references veraz.revision (tenant_id, document_id, revision_id) deferrable initially deferred;

create table veraz.section (
    tenant_id    uuid not null,
    revision_id  uuid not null,
    ord          integer not null check (ord >= 0),
    parent       integer,
    level        smallint not null,
    heading      text not null,
    heading_path text[] not null,
    start_at     integer not null,
    end_at       integer not null check (end_at >= start_at),
    primary key (tenant_id, revision_id, ord),
    foreign key (tenant_id, revision_id) references veraz.revision on delete cascade,
    foreign key (tenant_id, revision_id, parent) references veraz.section
);

create table veraz.chunk (
    tenant_id    uuid not null,
    chunk_id     uuid not null,
    document_id  uuid not null,
    revision_id  uuid not null,
    ord          integer not null check (ord >= 0),
    section      integer not null,
    heading_path text[] not null,
    kind         text not null,
    body         text not null,
    display      text not null,
    header       text not null,
    token_count  integer not null check (token_count > 0),
    spans        integer[] not null check (cardinality(spans) > 0 and cardinality(spans) % 2 = 0),
    start_at     integer not null,
    end_at       integer not null check (end_at > start_at),
    page         integer,
    content_hash bytea not null check (length(content_hash) = 32),
    lang         text not null,
    is_current   boolean not null default false,
    primary key (tenant_id, chunk_id),
    unique (tenant_id, revision_id, ord),
    foreign key (tenant_id, document_id, revision_id)
        references veraz.revision (tenant_id, document_id, revision_id),
    foreign key (tenant_id, revision_id, section) references veraz.section
);
comment on column veraz.chunk.spans is 'start, end, start, end …: code points of revision.text, in order';
comment on column veraz.chunk.content_hash is 'sha256 of exactly the text that is embedded: header and display form';
create index chunk_content on veraz.chunk (tenant_id, content_hash);
create index chunk_document on veraz.chunk (tenant_id, document_id) where is_current;

create table veraz.embedding_space (
    space_id       smallint generated always as identity primary key,
    name           text not null unique check (name ~ '^[a-z0-9][a-z0-9_.-]{0,60}$'),
    provider       text not null,
    model          text not null,
    dimension      integer not null check (dimension between 1 and 4000),
    normalised     boolean not null,
    query_prefix   text not null,
    passage_prefix text not null,
    distance       text not null check (distance in ('cosine', 'inner_product', 'l2')),
    max_tokens     integer not null,
    fingerprint    text not null,
    is_active      boolean not null default false,
    created_at     timestamptz not null default now()
);
create unique index embedding_space_active on veraz.embedding_space (is_active) where is_active;
comment on table veraz.embedding_space is 'registers spaces; the vectors of each stand in veraz.embedding_<space_id>';
