-- Purpose: forgets why documents could not be taken that were taken now. Index: ingest_failure_pkey.
delete from veraz.ingest_failure where tenant_id = veraz.current_tenant() and document_id = any (%(document_ids)s)
