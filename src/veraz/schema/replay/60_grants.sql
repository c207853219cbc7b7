-- What the runtime login and maintenance may do. Everything not granted here is refused.

revoke all on schema veraz from public;
revoke all on all tables in schema veraz from public, veraz_app, veraz_ops, veraz_auth;
grant usage on schema veraz to veraz_app, veraz_ops, veraz_auth;

do $$
declare
    f regprocedure;
begin
    -- authenticate() belongs to veraz_auth, which grants it itself
    for f in select oid from pg_proc where pronamespace = 'veraz'::regnamespace and pg_get_userbyid(proowner) = current_user loop
        execute format('revoke all on function %s from public', f);
        execute format('grant execute on function %s to veraz_app, veraz_ops', f);
    end loop;
end $$;
revoke execute on function veraz.erase_rows(uuid, integer) from veraz_app;

grant select on all tables in schema veraz to veraz_ops;
grant insert, update, delete on all tables in schema veraz to veraz_ops;
grant usage on all sequences in schema veraz to veraz_ops;
revoke insert, update, delete on veraz.migration, veraz.embedding_space from veraz_ops;

grant select on veraz.tenant, veraz.embedding_space, veraz.migration to veraz_app;
grant select, insert on veraz.source, veraz.document, veraz.revision, veraz.section, veraz.chunk, veraz.trace, veraz.eval_run, veraz.eval_query to veraz_app;
grant update (name, license, jurisdiction, authority, base_url, chunker) on veraz.source to veraz_app;
grant update (document_type, acl, acl_rule, owner, readable_from, readable_until, deleted_at, current_revision_id,
              superseded_by, superseded_at, superseded_from, supersession_pinned) on veraz.document to veraz_app;
grant update (retired_at) on veraz.revision to veraz_app;
grant update (is_current) on veraz.chunk to veraz_app;
grant select, insert, update, delete on veraz.chunk_lexical, veraz.posting, veraz.lexical_stat, veraz.lexical_epoch, veraz.lexeme_stat to veraz_app;
grant select, insert, update, delete on veraz.judgement, veraz.synonym, veraz.route_rule, veraz.job to veraz_app;
grant select, insert, delete on veraz.context_draft to veraz_app;
grant select, insert, update, delete on veraz.ingest_failure to veraz_app;
grant select, insert on veraz.recall_sample to veraz_app;
grant usage on veraz.posting_delta to veraz_app;

grant select on veraz.api_key, veraz.tenant to veraz_auth;
grant update (last_used_at) on veraz.api_key to veraz_auth;

do $$
declare
    t text;
begin
    for t in select relname from pg_class where relnamespace = 'veraz'::regnamespace and relkind = 'r' and relname ~ '^embedding_[0-9]+$' loop
        execute format('grant select, insert on veraz.%I to veraz_app', t);
        execute format('grant update (is_current) on veraz.%I to veraz_app', t);
    end loop;
end $$;
