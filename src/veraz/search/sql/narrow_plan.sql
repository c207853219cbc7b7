-- Purpose: whether the documents that a filter leaves are found by sets: each table once, met by hash joins. Without statistics the planner
-- takes a tenant for a few rows, and would look every document up. `by_sets` before, not after. One row.
select set_config('enable_nestloop', case when %(by_sets)s then 'off' else 'on' end, true)
