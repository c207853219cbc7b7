-- Purpose: what a build may use in this transaction: never less memory than the server's own setting. One row: the bytes.
select set_config('maintenance_work_mem',
                  greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %(bytes)s::bigint) / 1024 || 'kB', true)
