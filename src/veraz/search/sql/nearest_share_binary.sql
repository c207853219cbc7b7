-- Purpose: the same as nearest_share.sql for a space with an index of signs: of the `sample` vectors whose signs are most like the question's.
-- One row. Index: embedding_<n>_binary (is_current stays literal: the index is partial), then document_pkey, revision_pkey,
-- source_pkey for each.
select count(*)::integer as sampled,
       (count(*) filter (where exists (
            select from veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                                       %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                                       %(published_from)s::date, %(published_to)s::date) p
             where true {conditions} offset 0)))::integer as passing
  from (select chunk_id, document_id
          from {embedding}
         where is_current and tenant_id = veraz.current_tenant()
         order by binary_quantize(vec)::bit({dimension}) <~> binary_quantize(%(vector)s::halfvec)::bit({dimension})
         limit %(sample)s) e
