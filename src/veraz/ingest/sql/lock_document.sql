-- Purpose: one writer per document at a time; released with the transaction.
select pg_advisory_xact_lock(hashtextextended('document ' || %(document_id)s::text, 0))
