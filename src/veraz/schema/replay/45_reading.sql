-- What readers may see of a document, said once for every arm. The functions are single SELECTs, so that the planner writes them into
-- the query; `offset 0` keeps each look-up a look-up by key: without statistics it would become a join over the tenant.

-- What a filter expression compares (src/veraz/filters/predicates.sql). Text without case and accents.
create or replace function veraz.folded(words text) returns text language sql stable strict parallel safe as $$
    select lower(@extschema@.unaccent(words))
$$;

-- A value of the metadata as the declared type; null where it is none. None of these can fail: what cannot be converted is not tried.
create or replace function veraz.meta_text(value jsonb) returns text language sql immutable strict parallel safe as $$
    select case when jsonb_typeof(value) in ('string', 'number', 'boolean') then value #>> '{}' end
$$;
create or replace function veraz.meta_number(value jsonb) returns numeric language sql immutable strict parallel safe as $$
    select case when jsonb_typeof(value) = 'number' then value::numeric
                when jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[+-]?[0-9]{1,30}(\.[0-9]{1,30})?$' then (value #>> '{}')::numeric end
$$;
-- YYYY-MM-DD, perhaps with a time after it. Nested, because nothing but `case` says what is evaluated first.
create or replace function veraz.meta_date(value jsonb) returns date language sql immutable strict parallel safe as $$
    select case when jsonb_typeof(value) = 'string'
                 and value #>> '{}' ~ '^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ].*)?$'
           then case when substr(value #>> '{}', 9, 2)::integer
                       <= extract(day from make_date(substr(value #>> '{}', 1, 4)::integer, substr(value #>> '{}', 6, 2)::integer, 1)
                                           + interval '1 month' - interval '1 day')
                then make_date(substr(value #>> '{}', 1, 4)::integer, substr(value #>> '{}', 6, 2)::integer,
                               substr(value #>> '{}', 9, 2)::integer) end end
$$;
create or replace function veraz.meta_boolean(value jsonb) returns boolean language sql immutable strict parallel safe as $$
    select case when jsonb_typeof(value) = 'boolean' or (jsonb_typeof(value) = 'string' and lower(value #>> '{}') in ('true', 'false'))
                then (value #>> '{}')::boolean end
$$;
-- A single value is a list of one; what is no text, number, true or false in it is left out.
create or replace function veraz.meta_list(value jsonb) returns text[] language sql immutable strict parallel safe as $$
    select case jsonb_typeof(value)
           when 'array' then array(select e #>> '{}' from jsonb_array_elements(value) e where jsonb_typeof(e) in ('string', 'number', 'boolean'))
           when 'object' then null when 'null' then null else array[value #>> '{}'] end
$$;

-- Earlier versions returned less, and what a function returns cannot be replaced.
drop function if exists veraz.eligible(uuid, text[], text[], integer, text[], text[], date, date, date, date);
drop function if exists veraz.eligible_documents(text[], text[], integer, text[], text[], date, date, date, date);

-- At most one row: authority and date of a document that the caller may read and whose current revision meets the filters.
create or replace function veraz.eligible(
    of_document uuid, sources text[], langs text[], least_authority integer, licenses text[], jurisdictions text[],
    revised_from date, revised_to date, published_from date, published_to date)
returns table (
    authority smallint, revised_at date, source text, external_id text, document_type text, title text, lang text, license text,
    jurisdiction text, publisher text, url text, item text, edition text, published_at date, valid_from date, valid_to date, acl text[], meta jsonb)
language sql stable parallel safe as $$
    select s.authority, r.revised_at, s.slug, d.external_id, d.document_type, r.title, r.lang, coalesce(r.license, s.license),
           coalesce(r.jurisdiction, s.jurisdiction), r.publisher, r.url, r.item, r.edition, r.published_at, r.valid_from, r.valid_to, d.acl, r.meta
      from veraz.document d
     cross join lateral (
            select v.lang, v.revised_at, v.published_at, v.license, v.jurisdiction, v.title, v.publisher, v.url, v.item, v.edition, v.valid_from,
                   v.valid_to, v.meta
              from veraz.revision v
             where v.tenant_id = veraz.current_tenant() and v.revision_id = d.current_revision_id offset 0) r
     cross join lateral (
            select o.slug, o.authority, o.license, o.jurisdiction from veraz.source o
             where o.tenant_id = veraz.current_tenant() and o.source_id = d.source_id offset 0) s
     where d.tenant_id = veraz.current_tenant() and d.document_id = of_document and d.deleted_at is null
       and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
       and (sources is null or s.slug = any (sources))
       and (langs is null or r.lang = any (langs))
       and (least_authority is null or s.authority >= least_authority)
       and (licenses is null or coalesce(r.license, s.license) = any (licenses))
       and (jurisdictions is null or coalesce(r.jurisdiction, s.jurisdiction) = any (jurisdictions))
       and (eligible.revised_from is null or r.revised_at >= eligible.revised_from)
       and (eligible.revised_to is null or r.revised_at <= eligible.revised_to)
       and (eligible.published_from is null or r.published_at >= eligible.published_from)
       and (eligible.published_to is null or r.published_at <= eligible.published_to)
    offset 0
$$;

-- The same over sets: every document that the caller may read and whose current revision meets the filters.
create or replace function veraz.eligible_documents(
    sources text[], langs text[], least_authority integer, licenses text[], jurisdictions text[],
    revised_from date, revised_to date, published_from date, published_to date)
returns table (
    document_id uuid, authority smallint, revised_at date, source text, external_id text, document_type text, title text, lang text, license text,
    jurisdiction text, publisher text, url text, item text, edition text, published_at date, valid_from date, valid_to date, acl text[], meta jsonb)
language sql stable parallel safe as $$
    select d.document_id, s.authority, r.revised_at, s.slug, d.external_id, d.document_type, r.title, r.lang, coalesce(r.license, s.license),
           coalesce(r.jurisdiction, s.jurisdiction), r.publisher, r.url, r.item, r.edition, r.published_at, r.valid_from, r.valid_to, d.acl, r.meta
      from veraz.document d
      join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
      join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
     where d.tenant_id = veraz.current_tenant() and d.deleted_at is null
       and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
       and (sources is null or s.slug = any (sources))
       and (langs is null or r.lang = any (langs))
       and (least_authority is null or s.authority >= least_authority)
       and (licenses is null or coalesce(r.license, s.license) = any (licenses))
       and (jurisdictions is null or coalesce(r.jurisdiction, s.jurisdiction) = any (jurisdictions))
       and (eligible_documents.revised_from is null or r.revised_at >= eligible_documents.revised_from)
       and (eligible_documents.revised_to is null or r.revised_at <= eligible_documents.revised_to)
       and (eligible_documents.published_from is null or r.published_at >= eligible_documents.published_from)
       and (eligible_documents.published_to is null or r.published_at <= eligible_documents.published_to)
$$;

-- The revision of each document that held on a day, as upstream means it: the last that had begun, if it had not ended and its document
-- had not been superseded by then. Permissions and deletions are those of today. Written over sets: it reads every document of the tenant.
create or replace function veraz.valid_revisions(
    on_day date, sources text[], langs text[], least_authority integer, licenses text[], jurisdictions text[],
    revised_from date, revised_to date, published_from date, published_to date)
returns table (revision_id uuid, authority smallint, revised_at date) language sql stable parallel safe as $$
    select r.revision_id, s.authority, r.revised_at
      from (select distinct on (v.document_id) v.document_id, v.revision_id, v.valid_to, v.lang, v.license, v.jurisdiction,
                   v.revised_at, v.published_at
              from veraz.revision v
             where v.tenant_id = veraz.current_tenant() and v.effective_from <= on_day
             order by v.document_id, v.effective_from desc, v.number desc) r
      join veraz.document d on d.tenant_id = veraz.current_tenant() and d.document_id = r.document_id
      join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
     where d.deleted_at is null and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
       and (r.valid_to is null or on_day <= r.valid_to)
       and (d.superseded_from is null or on_day < d.superseded_from)
       and (sources is null or s.slug = any (sources))
       and (langs is null or r.lang = any (langs))
       and (least_authority is null or s.authority >= least_authority)
       and (licenses is null or coalesce(r.license, s.license) = any (licenses))
       and (jurisdictions is null or coalesce(r.jurisdiction, s.jurisdiction) = any (jurisdictions))
       and (valid_revisions.revised_from is null or r.revised_at >= valid_revisions.revised_from)
       and (valid_revisions.revised_to is null or r.revised_at <= valid_revisions.revised_to)
       and (valid_revisions.published_from is null or r.published_at >= valid_revisions.published_from)
       and (valid_revisions.published_to is null or r.published_at <= valid_revisions.published_to)
$$;

-- What a filter expression compares of one revision, current or not. At most one row.
create or replace function veraz.filterable(of_revision uuid)
returns table (
    authority smallint, revised_at date, source text, external_id text, document_type text, title text, lang text, license text,
    jurisdiction text, publisher text, url text, item text, edition text, published_at date, valid_from date, valid_to date, acl text[], meta jsonb)
language sql stable parallel safe as $$
    select s.authority, r.revised_at, s.slug, d.external_id, d.document_type, r.title, r.lang, coalesce(r.license, s.license),
           coalesce(r.jurisdiction, s.jurisdiction), r.publisher, r.url, r.item, r.edition, r.published_at, r.valid_from, r.valid_to, d.acl, r.meta
      from veraz.revision r
     cross join lateral (
            select external_id, document_type, acl, source_id from veraz.document
             where tenant_id = veraz.current_tenant() and document_id = r.document_id and deleted_at is null
               and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
     cross join lateral (
            select o.slug, o.authority, o.license, o.jurisdiction from veraz.source o
             where o.tenant_id = veraz.current_tenant() and o.source_id = d.source_id offset 0) s
     where r.tenant_id = veraz.current_tenant() and r.revision_id = of_revision
    offset 0
$$;

-- The end of the chain of successors, as far as the caller may read it: what a reader of superseded material should look at instead.
create or replace function veraz.last_successor(of_document uuid)
returns table (document_id uuid) language sql stable parallel safe as $$
    with recursive chain as (
        select of_document as document_id, null::uuid as successor, 0 as step
        union all
        select n.document_id, n.document_id, c.step + 1
          from chain c
         cross join lateral (
                select superseded_by from veraz.document
                 where tenant_id = veraz.current_tenant() and document_id = c.document_id and deleted_at is null
                   and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) o
         cross join lateral (
                select document_id from veraz.document
                 where tenant_id = veraz.current_tenant() and document_id = o.superseded_by and deleted_at is null
                   and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) n
         where c.step < 100
    )
    select c.successor from chain c where c.step > 0 order by c.step desc limit 1
$$;
