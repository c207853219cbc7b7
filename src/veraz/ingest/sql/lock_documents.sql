-- Purpose: one writer per document at a time, taken in one order by all; released with the transaction. One row per document.
select pg_advisory_xact_lock(key)
  from (select hashtextextended('document ' || id::text, 0) as key from unnest(%(document_ids)s::uuid[]) as d (id) order by 1) k
