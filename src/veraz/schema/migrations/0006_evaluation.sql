-- Evaluation runs with all that could explain them, and a row for each of their queries. Like traces they are readable to who holds the
-- roles that made them: rankings name documents, and questions may be personal data. No text of documents is in them.

alter table veraz.eval_run
    add column roles text[] not null default '{}',
    add column fingerprint text not null default '',
    add column queries integer not null default 0 check (queries >= 0),
    add column report jsonb not null default '{}',
    alter column per_query set default '{}';
create index eval_run_recent on veraz.eval_run (tenant_id, created_at desc);
comment on column veraz.eval_run.roles is 'what it was made with; empty in runs of schema version 5, which the whole tenant may read';
comment on column veraz.eval_run.fingerprint is 'sha256 of queries, judgements and collection: runs with the same one compare query by query';
comment on column veraz.eval_run.report is 'the report without its queries';
comment on column veraz.eval_run.per_query is 'no longer written: see eval_query';

create table veraz.eval_query (
    tenant_id   uuid not null,
    run_id      uuid not null,
    query_id    text not null,
    ord         integer not null check (ord >= 0),
    roles       text[] not null default '{}',
    question    text not null default '',
    outcome     text not null default '',
    measures    jsonb not null,
    documents   text[] not null default '{}',
    scores      double precision[] not null default '{}',
    grades      integer[] not null default '{}',
    missed      jsonb not null default '{}',
    facets      text[] not null default '{}',
    timings_ms  jsonb not null default '{}',
    latency_ms  double precision,
    empty_arms  text[] not null default '{}',
    shortfall   jsonb,
    error       text,
    primary key (tenant_id, run_id, query_id),
    foreign key (tenant_id, run_id) references veraz.eval_run on delete cascade,
    check (cardinality(documents) = cardinality(scores) and cardinality(documents) = cardinality(grades))
);
comment on column veraz.eval_query.ord is 'the place of the query in its suite, from 0';
comment on column veraz.eval_query.documents is 'what was ranked, best first: external ids, or judged spans and places of documents';
comment on column veraz.eval_query.grades is 'of documents, in their order; null: not judged';
comment on column veraz.eval_query.missed is 'grades of what is relevant and is not in documents';
-- As of all that may quote a document: the planner's samples would outlive an erasure.
alter table veraz.eval_query
    alter column question set statistics 0, alter column error set statistics 0;

-- The owner is blinded by FORCE like everybody else: it is lifted for the copy.
alter table veraz.eval_run no force row level security;
insert into veraz.eval_query (tenant_id, run_id, query_id, ord, measures)
select r.tenant_id, r.run_id, q.key, row_number() over (partition by r.tenant_id, r.run_id order by q.key) - 1, q.value
  from veraz.eval_run r cross join lateral jsonb_each(r.per_query) q;
update veraz.eval_run r set queries = (select count(*) from jsonb_object_keys(r.per_query));
alter table veraz.eval_run force row level security;
