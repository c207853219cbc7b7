-- Purpose: an erased document may be ingested again; until then it stays deleted. As the maintenance role. No row. Index: document_pkey.
update veraz.document set erased_at = null
 where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
