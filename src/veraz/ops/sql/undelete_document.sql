-- Purpose: a deleted document is found again, with the labels, the revision and the supersession that it had. No row. Index: document_pkey.
update veraz.document set deleted_at = null
 where tenant_id = veraz.current_tenant() and document_id = %(document_id)s and current_revision_id is not null
