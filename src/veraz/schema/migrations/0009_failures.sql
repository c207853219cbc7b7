-- What ingests could not take, so that somebody who misses a document later learns why.

create table veraz.ingest_failure (
    tenant_id   uuid not null references veraz.tenant,
    document_id uuid not null,
    source      text not null,
    external_id text not null,
    path        text not null,
    stage       text not null,
    reason      text not null,
    failed_at   timestamptz not null default now(),
    primary key (tenant_id, document_id)
);
alter table veraz.ingest_failure alter column reason set statistics 0; -- it may quote the text that was refused
create index ingest_failure_id on veraz.ingest_failure (tenant_id, external_id);
comment on table veraz.ingest_failure is 'why the last ingest of a document failed, until one succeeds; document_id is that of a document that may not be there';
