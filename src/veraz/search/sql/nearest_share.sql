-- Purpose: how many of the `sample` vectors nearest to the question the caller may read and the filters let through: far fewer than of all
-- documents, where a filter excludes what the question is about. One row.
-- Index: embedding_<n>_hnsw or embedding_<n>_ivfflat (is_current stays literal: the index is partial), then document_pkey, revision_pkey, source_pkey for each.
select count(*)::integer as sampled,
       (count(*) filter (where exists (
            select from veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                                       %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                                       %(published_from)s::date, %(published_to)s::date) p
             where true {conditions} offset 0)))::integer as passing
  from (select chunk_id, document_id
          from {embedding}
         where is_current and tenant_id = veraz.current_tenant()
         order by vec {operator} %(vector)s::halfvec
         limit %(sample)s) e
