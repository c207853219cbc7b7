-- Purpose: how long the exchange of two indexes waits for searches, which wait behind it. One row.
select set_config('lock_timeout', %(milliseconds)s::integer::text, true)
