-- Purpose: what a build of an index may use in this transaction: never less memory than the server's own setting; with `serial` no
-- parallel workers, which would share one segment of all that memory. And a build whose client is gone ends within seconds. One row.
select set_config('maintenance_work_mem',
                  greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %(bytes)s::bigint) / 1024 || 'kB', true),
       set_config('max_parallel_maintenance_workers',
                  case when %(serial)s then '0' else current_setting('max_parallel_maintenance_workers') end, true)
