-- Row-level security. Tables that hold content check tenant and access labels; index tables check the tenant, and the arms
-- join document. FORCE makes the owner subject to it as well; veraz_ops has explicit policies of its own.

do $$
declare
    t text;
begin
    for t in select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
              where c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') loop
        execute format('alter table veraz.%I enable row level security, force row level security', t);
        execute format('drop policy if exists tenant_isolation on veraz.%I', t);
        execute format('create policy tenant_isolation on veraz.%I to veraz_app using (tenant_id = veraz.current_tenant()) with check (tenant_id = veraz.current_tenant())', t);
        execute format('drop policy if exists maintenance on veraz.%I', t);
        execute format('create policy maintenance on veraz.%I to veraz_ops using (true) with check (true)', t);
    end loop;
end $$;

drop policy if exists readable on veraz.document;
create policy readable on veraz.document as restrictive for select to veraz_app
    using (veraz.is_writing() or (deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until)));

-- Writers see every document of the tenant, so nothing has to be looked up for them: it would be, in a plan that reads all documents
-- where the planner knows nothing of a table that is being loaded.
drop policy if exists readable on veraz.revision;
create policy readable on veraz.revision as restrictive for select to veraz_app
    using (veraz.is_writing() or exists (select from veraz.document d where d.tenant_id = revision.tenant_id and d.document_id = revision.document_id));

drop policy if exists readable on veraz.section;
create policy readable on veraz.section as restrictive for select to veraz_app
    using (veraz.is_writing() or exists (select from veraz.revision r where r.tenant_id = section.tenant_id and r.revision_id = section.revision_id));

drop policy if exists readable on veraz.chunk;
create policy readable on veraz.chunk as restrictive for select to veraz_app
    using (veraz.is_writing() or exists (select from veraz.document d where d.tenant_id = chunk.tenant_id and d.document_id = chunk.document_id));

-- What a model said of documents that may be readable to few, or are not there yet: for writers alone.
drop policy if exists readable on veraz.context_draft;
create policy readable on veraz.context_draft as restrictive for select to veraz_app using (veraz.is_writing());

-- It names documents, and may quote them, whoever may read them.
drop policy if exists readable on veraz.ingest_failure;
create policy readable on veraz.ingest_failure as restrictive for select to veraz_app using (veraz.is_writing());

drop policy if exists readable on veraz.trace;
create policy readable on veraz.trace as restrictive for select to veraz_app
    using (veraz.is_writing() or roles <@ veraz.current_roles());

-- A run's rankings name what its roles could read, and its questions are questions.
drop policy if exists readable on veraz.eval_run;
create policy readable on veraz.eval_run as restrictive for select to veraz_app
    using (veraz.is_writing() or roles <@ veraz.current_roles());
drop policy if exists readable on veraz.eval_query;
create policy readable on veraz.eval_query as restrictive for select to veraz_app
    using (veraz.is_writing() or roles <@ veraz.current_roles());

-- What authenticate() runs as: it reads keys and tenants of everybody, and notes when a key was used. Nothing else.
drop policy if exists authentication on veraz.api_key;
create policy authentication on veraz.api_key for select to veraz_auth using (true);
drop policy if exists last_use on veraz.api_key;
create policy last_use on veraz.api_key for update to veraz_auth using (true) with check (true);
drop policy if exists authentication on veraz.tenant;
create policy authentication on veraz.tenant for select to veraz_auth using (true);
