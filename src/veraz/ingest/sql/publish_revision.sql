-- Purpose: move the pointer and retire what was current; a deleted document is back. One row, of no use. Index: document_pkey,
-- revision (tenant, document, number).
with retired as (
    update veraz.revision set retired_at = now()
     where tenant_id = veraz.current_tenant() and document_id = %(document_id)s and retired_at is null and revision_id <> %(revision_id)s
), pointed as (
    update veraz.document set current_revision_id = %(revision_id)s, deleted_at = null, acl = coalesce(%(acl)s::text[], acl),
                              document_type = coalesce(%(document_type)s::text, document_type)
     where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
)
select 1
