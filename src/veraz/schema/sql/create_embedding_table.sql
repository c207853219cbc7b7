-- Purpose: the vectors of one space, with its one approximate index. A wrong dimension is refused by the type;
-- halfvec stores zeros and underflow, whose cosine is NaN, so the norm is checked.
create table {embedding} (
    tenant_id   uuid not null,
    chunk_id    uuid not null,
    document_id uuid not null,
    revision_id uuid not null,
    is_current  boolean not null default false,
    vec         halfvec({dimension}) not null check (l2_norm(vec) > 0),
    primary key (tenant_id, chunk_id),
    foreign key (tenant_id, chunk_id) references veraz.chunk on delete cascade
);
alter table {embedding} alter column vec set statistics 0; -- samples of vectors would outlive an erased text
create index {document_index} on {embedding} (tenant_id, document_id);
create index {index} on {embedding} using hnsw (vec {operators}) where is_current;
