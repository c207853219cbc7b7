-- Purpose: keep one evaluation run, without its queries. Readable later by who holds all the roles it was made with.
insert into veraz.eval_run (tenant_id, run_id, dataset, created_at, roles, fingerprint, queries, config, metrics, report)
values (veraz.current_tenant(), %(run_id)s, %(dataset)s, %(started_at)s, veraz.current_roles(), %(fingerprint)s, %(queries)s,
        %(config)s, %(metrics)s, %(report)s)
