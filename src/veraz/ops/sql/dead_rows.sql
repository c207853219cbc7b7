-- Purpose: tables whose dead rows outnumber a fifth of the live ones. One row per table.
select relname as "table", n_live_tup as live, n_dead_tup as dead from pg_stat_user_tables
 where schemaname = 'veraz' and n_dead_tup > 10000 and n_dead_tup > 0.2 * n_live_tup order by n_dead_tup desc
