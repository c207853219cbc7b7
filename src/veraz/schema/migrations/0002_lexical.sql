-- The lexical arm: document vectors beside their tsvector, and an inverted file in ordinary rows.

create table veraz.chunk_lexical (
    tenant_id   uuid not null,
    chunk_no    integer generated always as identity,
    chunk_id    uuid not null,
    document_id uuid not null,
    analyser    text not null,
    length      integer not null check (length >= 0),
    is_current  boolean not null default false,
    bm25        @extschema@.sparsevec(1000000000) not null,
    tsv         tsvector not null,
    primary key (tenant_id, chunk_no),
    unique (tenant_id, chunk_id),
    foreign key (tenant_id, chunk_id) references veraz.chunk on delete cascade
);
comment on column veraz.chunk_lexical.chunk_no is 'dense number of the chunk inside the postings';
comment on column veraz.chunk_lexical.length is 'tokens that survive the stop list, extra spellings not counted';
comment on column veraz.chunk_lexical.bm25 is 'saturated term frequency by term dimension; the inner product with the query''s idf is the BM25 score';
create index chunk_lexical_document on veraz.chunk_lexical (tenant_id, document_id);

create table veraz.posting (
    tenant_id uuid not null,
    analyser  text not null,
    term      bigint not null,
    block     integer not null,
    n         integer not null check (n <> 0),
    chunk_nos integer[] not null,
    impacts   smallint[] not null,
    primary key (tenant_id, analyser, term, block)
) with (toast_tuple_target = 4080, autovacuum_vacuum_scale_factor = 0.05);
alter table veraz.posting alter column chunk_nos set storage plain, alter column impacts set storage plain;
comment on table veraz.posting is
    'blocks >= 0: merged, in falling impact; blocks < 0: deltas of single transactions, n < 0 where they take postings away';
comment on column veraz.posting.impacts is 'saturated term frequency x 13000, rounded: at most 32500 at k1 = 1.5';

create sequence veraz.posting_delta as integer increment by -1 maxvalue -1 minvalue -2147483648 start -1 cycle;

create table veraz.lexical_stat (
    tenant_id uuid not null references veraz.tenant,
    analyser  text not null,
    block     integer not null,
    chunks    bigint not null,
    length    bigint not null,
    postings  bigint not null,
    primary key (tenant_id, analyser, block)
);
comment on table veraz.lexical_stat is 'sums over rows give N and the total length of current chunks; block 0 is merged, blocks < 0 are deltas';

create table veraz.lexical_epoch (
    tenant_id        uuid not null references veraz.tenant,
    analyser         text not null,
    epoch            integer not null default 1,
    reference_length real not null default 100 check (reference_length > 0),
    since            timestamptz not null default now(),
    primary key (tenant_id, analyser)
);
comment on column veraz.lexical_epoch.reference_length is
    'what BM25 divides a chunk''s length by: fixed within an epoch, so that scores do not depend on the order of ingest';

create table veraz.lexeme_stat (
    tenant_id uuid not null references veraz.tenant,
    analyser  text not null,
    term      bigint not null,
    lexeme    text not null,
    primary key (tenant_id, analyser, term)
);
comment on table veraz.lexeme_stat is 'the vocabulary, filled by the merge: for explanation and for fuzzy matching';
