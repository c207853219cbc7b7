-- Purpose: the server process that answers, which behind a pooler is not the one that the connection was told of. One row.
select pg_backend_pid()
