-- Purpose: vectors of texts that were embedded before in this tenant and space. One row per hash. Index: chunk_content.
select distinct on (c.content_hash) c.content_hash, e.vec::real[]
  from veraz.chunk c join {embedding} e on e.tenant_id = c.tenant_id and e.chunk_id = c.chunk_id
 where c.tenant_id = veraz.current_tenant() and c.content_hash = any (%(hashes)s)
 order by c.content_hash
