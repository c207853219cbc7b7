-- Purpose: the semantic arm. Nearest vectors of one space in the order of its HNSW index, filters and permissions inside the scan.
-- Rows: at most `pool`; the caller orders them (an iterative scan may yield them slightly out of order) and repairs a shortfall.
-- Scores: 1 - distance, higher is better. Index: embedding_<n>_hnsw (is_current stays literal: the index is partial),
-- then document_pkey, revision_pkey, source_pkey per candidate.
select e.chunk_id, 1 - (e.vec <=> %(vector)s::halfvec) as score, p.authority, p.revised_at
  from {embedding} e
 cross join lateral (
        select s.authority, r.revised_at
          from veraz.document d
         cross join lateral (
                select lang, revised_at from veraz.revision
                 where tenant_id = veraz.current_tenant() and revision_id = d.current_revision_id offset 0) r
         cross join lateral (
                select slug, authority from veraz.source
                 where tenant_id = veraz.current_tenant() and source_id = d.source_id offset 0) s
         where d.tenant_id = veraz.current_tenant() and d.document_id = e.document_id
           and d.deleted_at is null and d.acl && veraz.current_roles()
           and (%(sources)s::text[] is null or s.slug = any (%(sources)s))
           and (%(langs)s::text[] is null or r.lang = any (%(langs)s))
           and (%(authority)s::integer is null or s.authority >= %(authority)s)
           and (%(revised_from)s::date is null or r.revised_at >= %(revised_from)s)
           and (%(revised_to)s::date is null or r.revised_at <= %(revised_to)s)
        offset 0) p
 where e.is_current and e.tenant_id = veraz.current_tenant()
 order by e.vec <=> %(vector)s::halfvec
 limit %(pool)s
