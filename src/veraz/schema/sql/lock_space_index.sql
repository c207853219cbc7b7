-- Purpose: one build of a space's index at a time. One row: whether nobody else is building; until the end of the transaction.
select pg_try_advisory_xact_lock(%(space_id)s + x'7665726178000000'::bigint) as free
