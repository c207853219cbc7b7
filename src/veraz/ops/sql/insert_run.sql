-- Purpose: keep one evaluation run.
insert into veraz.eval_run (tenant_id, run_id, dataset, config, metrics, per_query)
values (veraz.current_tenant(), %(run_id)s, %(dataset)s, %(config)s, %(metrics)s, %(per_query)s)
