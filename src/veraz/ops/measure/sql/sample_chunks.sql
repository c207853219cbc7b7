-- Purpose: vectors of current chunks that the caller may read and that meet the filters, in an order that only `seed` decides, with the first
-- words of each. At most `count` rows. The order is said twice, so that it holds whatever the plan. Index: the tenant prefix of embedding_<n>_pkey, read once; then chunk_pkey per row of the result.
select e.chunk_id, e.vec::text as vector, left(c.display, 600) as words, c.lang
  from (select i.chunk_id, i.document_id, i.vec, md5(i.chunk_id::text || %(seed)s::text) as drawn
          from {embedding} i
         where i.is_current and i.tenant_id = veraz.current_tenant()
         order by drawn, i.chunk_id) e
 cross join lateral veraz.eligible(e.document_id, %(sources)s::text[], %(langs)s::text[], %(authority)s::integer,
                         %(licenses)s::text[], %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date,
                         %(published_from)s::date, %(published_to)s::date) p
 cross join lateral (
        select display, lang from veraz.chunk
         where tenant_id = veraz.current_tenant() and chunk_id = e.chunk_id offset 0) c
 where true {conditions}
 order by e.drawn, e.chunk_id
 limit %(count)s
