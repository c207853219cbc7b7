-- Purpose: the server's settings that decide how fast a search is. One row a setting.
select name, current_setting(name, true) as value
  from unnest(array['shared_buffers', 'work_mem', 'maintenance_work_mem', 'effective_cache_size', 'max_parallel_workers_per_gather', 'jit',
                    'random_page_cost', 'fsync']) as name
 order by name
