-- Purpose: why documents of a source could not be taken, in place of what was kept of an earlier run; not of erased ones, of which nothing is
-- kept. Index: ingest_failure_pkey, document_pkey.
insert into veraz.ingest_failure (tenant_id, document_id, source, external_id, path, stage, reason)
select veraz.current_tenant(), w.document_id, %(source)s, w.external_id, w.path, w.stage, w.reason
  from jsonb_to_recordset(%(failures)s) as w (document_id uuid, external_id text, path text, stage text, reason text)
 where not exists (select from veraz.document d
                    where d.tenant_id = veraz.current_tenant() and d.document_id = w.document_id and d.erased_at is not null)
    on conflict (tenant_id, document_id)
    do update set path = excluded.path, stage = excluded.stage, reason = excluded.reason, failed_at = now()
