-- Purpose: a deleted successor, for a reader whose labels would open it were it not deleted. In mode "write", which sees deleted rows; the
-- caller has read the superseded document. At most one row. Index: document_pkey.
select n.external_id, n.deleted_at, n.erased_at
  from veraz.document d join veraz.document n on n.tenant_id = d.tenant_id and n.document_id = d.superseded_by
 where d.tenant_id = veraz.current_tenant() and d.document_id = %(document_id)s and n.deleted_at is not null
   and veraz.may_read(n.acl, n.acl_rule, n.owner, n.readable_from, n.readable_until)
