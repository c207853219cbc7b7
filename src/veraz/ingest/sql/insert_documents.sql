-- Purpose: the identities of new documents, each with the pointer to the revision that the same transaction inserts, from a JSON array.
insert into veraz.document (tenant_id, document_id, source_id, external_id, document_type, acl, acl_rule, owner, readable_from, readable_until,
                            current_revision_id)
select veraz.current_tenant(), d.document_id, %(source_id)s, d.external_id, d.document_type, coalesce(d.acl, '{public}'), coalesce(d.acl_rule, 'any'),
       d.owner, d.readable_from, d.readable_until, d.revision_id
  from json_to_recordset(%(documents)s::json) as d (document_id uuid, revision_id uuid, external_id text, document_type text, acl text[],
       acl_rule text, owner text, readable_from timestamptz, readable_until timestamptz)
