-- Purpose: what several documents of a source say to the letter, and in how many passages of it that is so. One row a text, those of
-- most documents first; none where nothing is repeated. Counted when it is asked for: nothing is kept that could become wrong.
-- Index: chunk_document of the source's readable documents.
with readable as materialized (
    select d.document_id, d.external_id
      from veraz.source s
      join veraz.document d on d.tenant_id = s.tenant_id and d.source_id = s.source_id
     where s.tenant_id = veraz.current_tenant() and s.slug = %(source)s and d.deleted_at is null
       and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
), said as materialized (
    select md5(c.display) as key, count(*)::integer as passages, count(distinct c.document_id)::integer as documents,
           min(r.external_id) as example, min(c.display) as body
      from readable r
      join veraz.chunk c on c.tenant_id = veraz.current_tenant() and c.document_id = r.document_id
     where c.is_current
     group by md5(c.display)
), totals as (
    select sum(passages)::integer as passages, coalesce(sum(passages) filter (where documents > 1), 0)::integer as repeated from said
)
select s.documents, s.passages, s.example, s.body, t.repeated as repeated_passages, t.passages as all_passages
  from said s cross join totals t
 where s.documents >= %(least)s
 order by s.documents desc, length(s.body) desc, s.example
 limit %(top)s
