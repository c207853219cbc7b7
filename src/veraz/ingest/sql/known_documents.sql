-- Purpose: what is stored of these documents, to skip the unchanged. One row per known id. Index: document (tenant, source, external id).
-- `earlier`: hashes of dated revisions that are not current: upstream may publish its versions in any order. `replaced`: of those without a date.
select d.external_id, d.document_id, d.current_revision_id, d.deleted_at, d.erased_at, d.acl, d.acl_rule, d.owner,
       d.readable_from, d.readable_until, r.raw_hash,
       (select max(number) from veraz.revision a where a.tenant_id = d.tenant_id and a.document_id = d.document_id) as number,
       array(select a.raw_hash from veraz.revision a
              where a.tenant_id = d.tenant_id and a.document_id = d.document_id and a.stated_from is not null
                and a.revision_id is distinct from d.current_revision_id) as earlier,
       array(select a.raw_hash from veraz.revision a
              where a.tenant_id = d.tenant_id and a.document_id = d.document_id and a.stated_from is null
                and a.revision_id is distinct from d.current_revision_id) as replaced
  from veraz.document d
  left join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
 where d.tenant_id = veraz.current_tenant() and d.source_id = %(source_id)s and d.external_id = any (%(external_ids)s)
