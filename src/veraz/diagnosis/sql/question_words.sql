-- Purpose: what became of each word of a question, beside chunks that the caller may read (a diagnosis asks of one): whether the question's
-- language keeps it, its lexemes as the chunk's analyser makes them, whether the chunk has one of them, and whether its title and headings
-- do. One row per chunk and word, in order. Index: chunk_pkey, document_pkey, chunk_lexical (tenant, chunk).
select w.word, to_tsvector(('veraz.lex_' || %(analyser)s)::regconfig, veraz.searchable(w.word)) <> ''::tsvector as is_kept, a.lexemes,
       tsvector_to_array(l.tsv) && a.lexemes as is_there,
       tsvector_to_array(veraz.analyse(l.analyser, %(heading)s)) && a.lexemes as is_in_heading
  from unnest(%(words)s::text[]) with ordinality as w (word, place)
 cross join veraz.chunk c
  join veraz.document d on d.tenant_id = veraz.current_tenant() and d.document_id = c.document_id
  join veraz.chunk_lexical l on l.tenant_id = veraz.current_tenant() and l.chunk_id = c.chunk_id
 cross join lateral (select tsvector_to_array(veraz.analyse(l.analyser, w.word)) as lexemes) a
 where c.tenant_id = veraz.current_tenant() and c.chunk_id = any (%(chunk_ids)s::uuid[])
   and d.deleted_at is null and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
 order by c.chunk_id, w.place
