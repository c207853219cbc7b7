-- Purpose: keeps erasures of these documents out until the commit, and no other keeper of drafts. One row per document.
select pg_advisory_xact_lock_shared(key)
  from (select hashtextextended('document ' || id::text, 0) as key from unnest(%(document_ids)s::uuid[]) as d (id) order by 1) k
