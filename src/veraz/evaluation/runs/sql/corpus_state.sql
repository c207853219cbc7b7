-- Purpose: what a search would look through, as the caller may read it: counts, the newest day, parsers and chunkers, and a figure that
-- changes with the bytes of any document (a sum over them, so that no order matters). One row. Reads every readable document of the tenant.
-- Index: chunk_document.
select count(*)::integer as documents, coalesce(sum(c.chunks), 0)::integer as chunks, max(r.ingested_at) as newest,
       coalesce(array_agg(distinct r.parser), '{}') as parsers, coalesce(array_agg(distinct r.chunker), '{}') as chunkers,
       md5(coalesce(sum(('x' || left(md5(s.slug || chr(10) || d.external_id || chr(10) || encode(coalesce(r.bytes_hash, r.raw_hash), 'hex')),
                                     15))::bit(60)::bigint), 0)::text) as fingerprint
  from veraz.source s
  join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id
  join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
  join lateral (select count(*) as chunks from veraz.chunk c
                 where c.tenant_id = d.tenant_id and c.document_id = d.document_id and c.is_current) c on c.chunks > 0
 where s.tenant_id = veraz.current_tenant() and (%(source)s::text is null or s.slug = %(source)s) and d.deleted_at is null
   and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
