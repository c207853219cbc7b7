-- Purpose: which documents of a source the last ingests could not take. One row per document. Reads the tenant's failures.
select document_id from veraz.ingest_failure where tenant_id = veraz.current_tenant() and source = %(source)s
