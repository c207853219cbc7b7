-- Purpose: queries of evaluation runs that name a document keep ids and figures and lose every text, whoever made the run: a question may
-- quote what it asks about. Where documents are ranked, ids alone are compared, so a document of that id in another source counts too; a
-- judged span names its source (SOURCE/ID#START-END, or SOURCE/ID@START-END for a place without a judgement). One row a query. Reads every
-- query of every run of the tenant.
update veraz.eval_query q set question = '[erased]', error = null
 where tenant_id = veraz.current_tenant()
   and exists (select from (select unnest(q.documents) union all select jsonb_object_keys(q.missed)) named (id)
                where id = %(external_id)s::text
                   or starts_with(id, %(source)s::text || '/' || %(external_id)s::text || '#')
                   or starts_with(id, %(source)s::text || '/' || %(external_id)s::text || '@'))
returning 1
