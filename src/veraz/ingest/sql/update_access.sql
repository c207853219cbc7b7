-- Purpose: access labels of an unchanged document; a change applies to the very next query.
update veraz.document set acl = %(acl)s where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
