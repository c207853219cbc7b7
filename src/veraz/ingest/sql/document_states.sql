-- Purpose: documents under their locks: is each still what the work started from? One row per document that exists. Index: document_pkey,
-- revision_pkey, revision (tenant, document, number).
select d.document_id, d.current_revision_id, greatest(d.purged_number, (select max(number) from veraz.revision m
                                                where m.tenant_id = d.tenant_id and m.document_id = d.document_id)) as last_number,
       r.stated_from, d.deleted_at, d.erased_at,
       exists (select from veraz.revision h
                where h.tenant_id = d.tenant_id and h.document_id = d.document_id and h.raw_hash = w.raw_hash and h.stated @> w.stated::jsonb
                  and (h.revision_id = d.current_revision_id
                       or (h.stated_from is not null and h.stated_from is distinct from r.stated_from))) and d.deleted_at is null as is_stored
  from unnest(%(document_ids)s::uuid[], %(raw_hashes)s::bytea[], %(stated)s::text[]) as w (document_id, raw_hash, stated)
 cross join lateral (
        select * from veraz.document where tenant_id = veraz.current_tenant() and document_id = w.document_id offset 0) d
  left join lateral (
        select stated_from from veraz.revision where tenant_id = d.tenant_id and revision_id = d.current_revision_id offset 0) r on true
