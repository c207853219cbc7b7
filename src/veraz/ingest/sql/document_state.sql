-- Purpose: the document under the lock: is it still what the work started from? At most one row. Index: document_pkey, revision_pkey.
select d.current_revision_id, greatest(d.purged_number, (select max(number) from veraz.revision m
                                                where m.tenant_id = d.tenant_id and m.document_id = d.document_id)) as last_number,
       r.stated_from, d.deleted_at, d.erased_at,
       exists (select from veraz.revision h
                where h.tenant_id = d.tenant_id and h.document_id = d.document_id and h.raw_hash = %(raw_hash)s and h.stated @> %(stated)s::jsonb
                  and (h.revision_id = d.current_revision_id
                       or (h.stated_from is not null and h.stated_from is distinct from r.stated_from))) and d.deleted_at is null as is_stored
  from veraz.document d
  left join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
 where d.tenant_id = veraz.current_tenant() and d.document_id = %(document_id)s
