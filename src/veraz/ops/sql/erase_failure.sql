-- Purpose: removes why a document could not be taken that was never written. Index: ingest_failure_pkey.
delete from veraz.ingest_failure where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
