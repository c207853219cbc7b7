-- What approximate search missed, sampled while it runs: figures alone, no question and no id of a document.

create table veraz.recall_sample (
    tenant_id    uuid not null references veraz.tenant,
    sample_id    uuid not null default gen_random_uuid(),
    measured_at  timestamptz not null default now(),
    arm          text check (arm in ('lexical', 'semantic')),
    space_id     smallint,
    k            integer not null check (k > 0),
    expected     integer not null check (expected >= 0),
    found        integer not null check (found between 0 and expected),
    approximated boolean not null,
    filtered     boolean not null,
    exact_ms     real not null check (exact_ms >= 0),
    dropped      integer not null default 0 check (dropped >= 0),
    primary key (tenant_id, sample_id),
    check (case when arm is null then expected = 0 and dropped > 0 else expected > 0 and dropped = 0 end)
);
create index recall_sample_recent on veraz.recall_sample (tenant_id, measured_at);
comment on table veraz.recall_sample is 'a row per arm of a sampled search: of the first k that an exact scan finds, how many the arm had';
comment on column veraz.recall_sample.arm is 'null: a note of samples that were dropped';
comment on column veraz.recall_sample.approximated is 'false: the arm had read everything, and was not asked again';
comment on column veraz.recall_sample.dropped is 'searches that were chosen and not measured: the queue was full, or the process ended';
