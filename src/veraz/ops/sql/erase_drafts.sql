-- Purpose: removes what a model wrote about a document that was never written. Index: context_draft_pkey.
delete from veraz.context_draft where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
