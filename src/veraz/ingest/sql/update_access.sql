-- Purpose: who may read a document; a change applies to the very next query. One row where the document exists. Index: document_pkey.
update veraz.document set acl = %(acl)s, acl_rule = %(acl_rule)s, owner = %(owner)s, readable_from = %(readable_from)s,
                          readable_until = %(readable_until)s
 where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
returning document_id
