-- Purpose: remove one deleted document whose time is over. One row: revisions, chunks, whether a tombstone stays; nulls where a writer holds it.
-- Index: document_pkey, revision (tenant, document, number).
select revisions, chunks, tombstone from veraz.purge_document(%(document_id)s, %(deleted_days)s)
