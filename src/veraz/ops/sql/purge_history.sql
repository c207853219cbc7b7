-- Purpose: remove one batch of old revisions. One row: the last document reached (null: none is left), busy documents, revisions, chunks.
-- Index: revision (tenant, document, number).
select next_document, busy, revisions, chunks
  from veraz.purge_history(%(history_days)s, %(history_revisions)s, %(from_document)s, %(passed)s, %(batch)s)
