-- What is kept about use: traces, evaluation runs, judgements; and administration: keys, synonyms, routes, jobs.

create table veraz.trace (
    tenant_id  uuid not null references veraz.tenant,
    trace_id   uuid not null,
    kind       text not null check (kind in ('search', 'ask')),
    created_at timestamptz not null default now(),
    roles      text[] not null,
    question   text not null,
    outcome    text not null,
    record     jsonb not null,
    primary key (tenant_id, trace_id)
);
create index trace_recent on veraz.trace (tenant_id, created_at desc);

create table veraz.eval_run (
    tenant_id  uuid not null references veraz.tenant,
    run_id     uuid not null,
    dataset    text not null,
    created_at timestamptz not null default now(),
    config     jsonb not null,
    metrics    jsonb not null,
    per_query  jsonb not null,
    primary key (tenant_id, run_id)
);

create table veraz.judgement (
    tenant_id   uuid not null references veraz.tenant,
    suite       text not null,
    query_id    text not null,
    source_id   uuid not null,
    external_id text not null,
    start_at    integer,
    end_at      integer,
    grade       smallint not null check (grade between 0 and 3),
    judge       text not null,
    judged_at   timestamptz not null default now(),
    foreign key (tenant_id, source_id) references veraz.source
);
create unique index judgement_key on veraz.judgement
    (tenant_id, suite, query_id, source_id, external_id, coalesce(start_at, -1), judge);

create table veraz.api_key (
    tenant_id    uuid not null references veraz.tenant,
    key_id       uuid not null default gen_random_uuid(),
    prefix       text not null,
    key_hash     bytea not null unique check (length(key_hash) = 32),
    roles        text[] not null,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    primary key (tenant_id, key_id)
);

create table veraz.synonym (
    tenant_id uuid not null references veraz.tenant,
    lang      text not null,
    term      text not null,
    expansion text not null,
    primary key (tenant_id, lang, term, expansion)
);

create table veraz.route_rule (
    tenant_id uuid not null references veraz.tenant,
    rule      text not null,
    category  text not null,
    lang      text not null,
    pattern   text not null,
    message   text not null,
    enabled   boolean not null default true,
    primary key (tenant_id, rule, lang)
);

create table veraz.job (
    tenant_id   uuid not null references veraz.tenant,
    job_id      uuid not null default gen_random_uuid(),
    kind        text not null,
    payload     jsonb not null default '{}',
    state       text not null default 'ready' check (state in ('ready', 'running', 'done', 'failed')),
    attempts    integer not null default 0,
    run_after   timestamptz not null default now(),
    created_at  timestamptz not null default now(),
    finished_at timestamptz,
    error       text,
    primary key (tenant_id, job_id)
);
create index job_ready on veraz.job (run_after) where state = 'ready';
