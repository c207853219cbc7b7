-- Purpose: why ingests could not take a document, the latest first. In mode "write", for the operator alone. Index: ingest_failure_id.
select source, external_id, path, stage, reason, failed_at
  from veraz.ingest_failure
 where tenant_id = veraz.current_tenant() and external_id = any (%(external_ids)s) and (%(source)s::text is null or source = %(source)s)
 order by failed_at desc
