-- Purpose: the document's identity, when it is new.
insert into veraz.document (tenant_id, document_id, source_id, external_id, document_type, acl)
values (veraz.current_tenant(), %(document_id)s, %(source_id)s, %(external_id)s, %(document_type)s, coalesce(%(acl)s::text[], '{public}'))
on conflict (tenant_id, document_id) do nothing
