-- Purpose: one writer per document at a time, taken in one order by all, after the lock of supersession where that plays a part; released
-- with the transaction. One row per document.
select pg_advisory_xact_lock(key)
  from (select veraz.lock_supersession(%(declares)s) as linked offset 0) s
 cross join lateral (select hashtextextended('document ' || id::text, 0) as key, s.linked
                       from unnest(%(document_ids)s::uuid[]) as d (id) order by 1) k
