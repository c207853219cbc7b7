-- Purpose: how large a share of the tenant's documents the caller may read and the filters let through, from `sample` of them. One row.
-- Ids of documents are hashes: the first in their order are drawn blindly, and the same each time.
-- Index: chunk_lexical_document, one step per document; then document_pkey, revision_pkey, source_pkey for each.
with recursive sampled as (
    (select document_id, 1 as number from veraz.chunk_lexical
      where tenant_id = veraz.current_tenant() order by document_id limit 1)
    union all
    select n.document_id, s.number + 1
      from sampled s
     cross join lateral (
            select document_id from veraz.chunk_lexical
             where tenant_id = veraz.current_tenant() and document_id > s.document_id order by document_id limit 1) n
     where s.number < %(sample)s
)
select count(*)::integer as sampled,
       (count(*) filter (where exists (
            select from veraz.eligible(s.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                                       %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                                       %(published_from)s::date, %(published_to)s::date) p
             where true {documents} offset 0)))::integer as passing
  from sampled s
