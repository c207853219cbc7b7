-- Purpose: traces that name a document keep ids and lose every text, whoever made them. One row per trace. Reads every trace of the tenant.
update veraz.trace set question = '[erased]', record = veraz.erased_record(record)
 where tenant_id = veraz.current_tenant()
   and jsonb_path_exists(record, '$.**?(@.source == $source && (@.external_id == $id || @.superseded_by == $id))',
                         jsonb_build_object('source', %(source)s::text, 'id', %(external_id)s::text))
returning 1
