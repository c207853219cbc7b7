-- Purpose: move the pointer and retire what was current; a deleted document is back. A revision older than the current one goes into the
-- history instead. One row, of no use. Index: document_pkey, revision (tenant, document, number).
with retired as (
    update veraz.revision set retired_at = now()
     where tenant_id = veraz.current_tenant() and document_id = %(document_id)s and retired_at is null
       and revision_id <> all (case when %(becomes_current)s then array[%(revision_id)s::uuid]
                               else array(select current_revision_id from veraz.document
                                           where tenant_id = veraz.current_tenant() and document_id = %(document_id)s) end)
), pointed as (
    update veraz.document
       set current_revision_id = case when %(becomes_current)s then %(revision_id)s::uuid else current_revision_id end, deleted_at = null,
           acl = coalesce(%(acl)s::text[], acl), document_type = coalesce(%(document_type)s::text, document_type),
           acl_rule = case when %(acl)s::text[] is null then acl_rule else %(acl_rule)s::text end,
           owner = case when %(acl)s::text[] is null then owner else %(owner)s::text end,
           readable_from = case when %(acl)s::text[] is null then readable_from else %(readable_from)s::timestamptz end,
           readable_until = case when %(acl)s::text[] is null then readable_until else %(readable_until)s::timestamptz end
     where tenant_id = veraz.current_tenant() and document_id = %(document_id)s
)
select 1
