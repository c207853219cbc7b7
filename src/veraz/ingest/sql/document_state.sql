-- Purpose: the document under the lock: is it still what the work started from? At most one row. Index: document_pkey.
select d.current_revision_id, coalesce((select max(number) from veraz.revision r
                                         where r.tenant_id = d.tenant_id and r.document_id = d.document_id), 0)
  from veraz.document d where d.tenant_id = veraz.current_tenant() and d.document_id = %(document_id)s
