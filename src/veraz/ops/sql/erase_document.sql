-- Purpose: remove every text, vector and posting of a document; its identity stays. One row: revisions, chunks, this transaction.
-- Index: revision (tenant, document, number), chunk (tenant, revision, ord), posting_pkey.
select revisions, chunks, pg_current_xact_id()::text from veraz.erase_document(%(document_id)s)
