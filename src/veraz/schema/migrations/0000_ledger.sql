-- The ledger of migrations. Row -1 holds the digest of the replayed files.
create table veraz.migration (
    number     integer primary key,
    name       text not null,
    digest     text not null,
    applied_at timestamptz not null default now()
);
