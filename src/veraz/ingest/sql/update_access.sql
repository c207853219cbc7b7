-- Purpose: access labels of an unchanged document; a change applies to the very next query.
update veraz.document set acl = %(acl)s, deleted_at = null where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
