-- Purpose: how a day is searched: by sets, once over the tenant's rows, where a search of today goes by keys. Bitmaps read the heap in its
-- own order and hash joins meet 20,000 documents at once: half the time over 200,000 chunks. `wanted` off before, on after. One row.
select set_config('enable_indexscan', %(wanted)s, true), set_config('enable_nestloop', %(wanted)s, true)
