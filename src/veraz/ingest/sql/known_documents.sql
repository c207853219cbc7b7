-- Purpose: what is stored of these documents, to skip the unchanged. One row per known id. Index: document (tenant, source, external id),
-- revision (tenant, document, number). Of each the current revision, then those that hold from another day, newest first: upstream may
-- publish its versions in any order. `replaced`: hashes of those that were current once, and have no date or the current one's: if such
-- a text arrives again, it is the newest.
select d.external_id, d.document_id, d.current_revision_id, d.deleted_at, d.erased_at, d.acl, d.acl_rule, d.owner,
       d.readable_from, d.readable_until, h.raw_hashes, h.bytes_hashes, h.stated,
       array(select a.raw_hash from veraz.revision a
              where a.tenant_id = d.tenant_id and a.document_id = d.document_id
                and (a.stated_from is null or a.stated_from = c.stated_from)
                and a.revision_id is distinct from d.current_revision_id) as replaced
  from veraz.document d
  left join veraz.revision c on c.tenant_id = d.tenant_id and c.revision_id = d.current_revision_id
 cross join lateral (
        select coalesce(array_agg(a.raw_hash order by a.place, a.number desc), '{}') as raw_hashes,
               coalesce(array_agg(a.bytes_hash order by a.place, a.number desc), '{}') as bytes_hashes,
               coalesce(array_agg(a.stated order by a.place, a.number desc), '{}') as stated
          from (select r.raw_hash, r.bytes_hash, r.stated, r.number, (r.revision_id is distinct from d.current_revision_id)::integer as place
                  from veraz.revision r
                 where r.tenant_id = d.tenant_id and r.document_id = d.document_id
                   and (r.revision_id = d.current_revision_id
                        or (r.stated_from is not null and r.stated_from is distinct from c.stated_from))) a) h
 where d.tenant_id = veraz.current_tenant() and d.source_id = %(source_id)s and d.external_id = any (%(external_ids)s)
