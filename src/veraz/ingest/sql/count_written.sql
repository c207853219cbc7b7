-- Purpose: the check before the commit: current chunks, lexical rows, vectors of this revision. One row.
select count(*) filter (where c.is_current), count(l.chunk_id), count(e.chunk_id),
       (select d.superseded_by is not null from veraz.document d
         where d.tenant_id = veraz.current_tenant() and d.document_id = %(document_id)s)
  from veraz.chunk c
  left join veraz.chunk_lexical l on l.tenant_id = c.tenant_id and l.chunk_id = c.chunk_id
  left join {embedding} e on e.tenant_id = c.tenant_id and e.chunk_id = c.chunk_id
 where c.tenant_id = veraz.current_tenant() and c.revision_id = %(revision_id)s
