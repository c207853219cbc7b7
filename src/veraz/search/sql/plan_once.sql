-- Purpose: whether a statement is planned once for a connection, or with its values each time. Planning the lexical arm, or the reading of
-- hits, takes longer than running them, and their plans are look-ups by key that no value changes. What reads a partial index, or a table by
-- sets, needs its values and is planned each time. `once` before, not after. One row.
select set_config('plan_cache_mode', case when %(once)s then 'force_generic_plan' else 'force_custom_plan' end, true)
