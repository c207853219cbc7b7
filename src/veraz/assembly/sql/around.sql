-- Purpose: the chunks around hits, in the revision of each: `reach` places before and behind it, those of its window, and its section's
-- where that is at most `longest` code points long. One row per chunk that may be read, without its text. Of a filter expression the slot holds what it
-- says of chunks; documents and revisions are those of the hits, which met the rest.
-- Index: chunk_pkey, section_pkey and document_pkey once per hit, then chunk (tenant, revision, ord): see search/sql/hydrate.sql for `offset 0`.
with hit as materialized (
    select c.revision_id, c.ord, c.section, c.window_start, c.window_end, s.end_at - s.start_at as length
      from unnest(%(chunk_ids)s::uuid[]) as wanted (chunk_id)
     cross join lateral (
            select document_id, revision_id, ord, section, window_start, window_end from veraz.chunk
             where tenant_id = veraz.current_tenant() and chunk_id = wanted.chunk_id offset 0) c
     cross join lateral (
            select start_at, end_at from veraz.section
             where tenant_id = veraz.current_tenant() and revision_id = c.revision_id and ord = c.section offset 0) s
     cross join lateral (
            select from veraz.document
             where tenant_id = veraz.current_tenant() and document_id = c.document_id
               and deleted_at is null and veraz.may_read(acl, acl_rule, owner, readable_from, readable_until) offset 0) d
), near as (
    select n.chunk_id
      from hit h
     cross join lateral (
            select chunk_id from veraz.chunk
             where tenant_id = veraz.current_tenant() and revision_id = h.revision_id
               and ord between h.ord - %(reach)s::integer and h.ord + %(reach)s::integer offset 0) n
    union
    select n.chunk_id
      from (select distinct revision_id, section from hit where length <= %(longest)s::integer) h
     cross join lateral (
            select chunk_id from veraz.chunk
             where tenant_id = veraz.current_tenant() and revision_id = h.revision_id and section = h.section offset 0) n
    union
    select n.chunk_id
      from hit h
     cross join lateral (
            select chunk_id from veraz.chunk
             where tenant_id = veraz.current_tenant() and revision_id = h.revision_id
               and start_at < h.window_end and end_at > h.window_start offset 0) n
     where h.window_start is not null
)
select e.chunk_id, e.revision_id, e.ord, e.section, e.kind, e.heading_path, e.spans, e.window_start, e.window_end,
       s.start_at as section_start, s.end_at as section_end
  from near n
 cross join lateral (
        select chunk_id, revision_id, ord, section, kind, heading_path, spans, window_start, window_end from veraz.chunk
         where tenant_id = veraz.current_tenant() and chunk_id = n.chunk_id offset 0) e
 cross join lateral (
        select start_at, end_at from veraz.section
         where tenant_id = veraz.current_tenant() and revision_id = e.revision_id and ord = e.section offset 0) s
 where true {chunks}
 order by e.revision_id, e.ord
