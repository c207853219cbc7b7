-- Purpose: how many current vectors the tenant has in a space, and how many of them the caller may read and the filters let through. One row.
-- Index: the tenant prefix of the primary keys, each once.
select count(*)::integer as vectors,
       (count(*) filter (where e.document_id in (
            select p.document_id
              from veraz.eligible_documents(%(sources)s::text[], %(langs)s::text[], %(authority)s::integer, %(licenses)s::text[],
                                            %(jurisdictions)s::text[], %(revised_from)s::date, %(revised_to)s::date, %(published_from)s::date,
                                            %(published_to)s::date) p
             where true {documents}) {chunks}))::integer as permitted
  from {embedding} e
 where e.is_current and e.tenant_id = veraz.current_tenant()
