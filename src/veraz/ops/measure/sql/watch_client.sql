-- Purpose: a build whose client is gone ends within seconds, and not when it is done. Not every platform can tell. One row.
select set_config('client_connection_check_interval', '2s', true)
