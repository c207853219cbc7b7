-- Purpose: which index a space has from now on. One row. As the owner.
update veraz.embedding_space
   set index_kind = %(kind)s, index_options = %(options)s::jsonb, index_built_at = now()
 where space_id = %(space_id)s
returning index_built_at
