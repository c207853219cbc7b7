-- What readers may see of a document, said once for every arm. The functions are single SELECTs, so that the planner writes them into
-- the query; `offset 0` keeps each look-up a look-up by key: without statistics it would become a join over the tenant.

-- At most one row: authority and date of a document that the caller may read and whose current revision meets the filters.
create or replace function veraz.eligible(
    of_document uuid, sources text[], langs text[], least_authority integer, licenses text[], jurisdictions text[],
    revised_from date, revised_to date, published_from date, published_to date)
returns table (authority smallint, revised_at date) language sql stable parallel safe as $$
    select s.authority, r.revised_at
      from veraz.document d
     cross join lateral (
            select v.lang, v.revised_at, v.published_at, v.license, v.jurisdiction from veraz.revision v
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
returns table (document_id uuid, authority smallint, revised_at date) language sql stable parallel safe as $$
    select d.document_id, s.authority, r.revised_at
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
