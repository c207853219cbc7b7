-- Purpose: the chunks of a revision of a document that the caller was just shown, with what the arms hold of each, in reading order. In
-- mode "write". Index: chunk (tenant, revision, ord), chunk_lexical (tenant, chunk), the primary key of the embedding table.
select c.chunk_id, c.ord, c.kind, c.heading_path, c.header, c.display, c.embedded, c.spans, c.lang, c.is_current, l.analyser,
       exists (select from {embedding} e where e.tenant_id = c.tenant_id and e.chunk_id = c.chunk_id) as has_vector
  from veraz.chunk c left join veraz.chunk_lexical l on l.tenant_id = c.tenant_id and l.chunk_id = c.chunk_id
 where c.tenant_id = veraz.current_tenant() and c.revision_id = %(revision_id)s
 order by c.ord
