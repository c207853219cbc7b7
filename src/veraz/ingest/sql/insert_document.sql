-- Purpose: the document's identity, when it is new.
insert into veraz.document (tenant_id, document_id, source_id, external_id, document_type, acl, acl_rule, owner, readable_from, readable_until)
values (veraz.current_tenant(), %(document_id)s, %(source_id)s, %(external_id)s, %(document_type)s, coalesce(%(acl)s::text[], '{public}'),
        coalesce(%(acl_rule)s::text, 'any'), %(owner)s, %(readable_from)s, %(readable_until)s)
on conflict (tenant_id, document_id) do nothing
