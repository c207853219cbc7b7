-- Purpose: what holds today, of documents of which something only holds from a later day: a revision of the document itself, else of what
-- it replaces then. One row per document where there is such a revision that may be read.
-- Index: document_superseded, document_pkey, revision_effective, a few times per id (see hydrate.sql for `offset 0`).
select wanted.document_id, held.external_id, held.number, held.title, held.url
  from unnest(%(document_ids)s::uuid[]) as wanted (document_id)
 cross join lateral (
        with recursive before as (
            select wanted.document_id, 0 as step
            union all
            select o.document_id, b.step + 1
              from before b
             cross join lateral (
                    select document_id from veraz.document
                     where tenant_id = veraz.current_tenant() and superseded_by = b.document_id
                       and superseded_from > %(today)s::date offset 0) o
             where b.step < 100
        )
        select o.external_id, v.number, v.title, v.url
          from before b
         cross join lateral (
                select external_id from veraz.document
                 where tenant_id = veraz.current_tenant() and document_id = b.document_id and deleted_at is null
                   and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) o
         cross join lateral (
                select number, title, url, valid_to from veraz.revision
                 where tenant_id = veraz.current_tenant() and document_id = b.document_id and effective_from <= %(today)s::date
                 order by effective_from desc, number desc limit 1 offset 0) v
         where v.valid_to is null or v.valid_to >= %(today)s::date
         order by b.step, o.external_id limit 1) held
