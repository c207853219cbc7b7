-- Purpose: how a day is searched, or all rows that a reader may see: by sets, once over the tenant's rows, where a search of today goes by keys. Bitmaps read the heap in its
-- own order, where an index would leap through it, and hash joins meet 20,000 documents at once: half the time over 200,000 chunks.
-- `by_sets` before, not after. One row.
select set_config('random_page_cost', case when %(by_sets)s then '100' else d.reset_val end, true),
       set_config('enable_nestloop', case when %(by_sets)s then 'off' else 'on' end, true)
  from pg_settings d where d.name = 'random_page_cost'
