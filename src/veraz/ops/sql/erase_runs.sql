-- Purpose: queries of evaluation runs that name a document keep ids and figures and lose every text, whoever made the run: a question may
-- quote what it asks about. Ids alone are compared, so a document of that id in another source counts too. One row a query. Reads every
-- query of every run of the tenant.
update veraz.eval_query set question = '[erased]', error = null
 where tenant_id = veraz.current_tenant() and (documents @> array[%(external_id)s::text] or missed ? %(external_id)s::text)
returning 1
