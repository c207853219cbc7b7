-- Purpose: whether the approximate scan may be planned as a sort of all vectors: not before it, again after it. Without statistics, as
-- right after a corpus was loaded, the planner takes a tenant for a few rows, and would compare every vector. One row.
select set_config('enable_sort', case when %(by_index)s then 'off' else 'on' end, true)
