-- Purpose: the lexemes of those words of a question of which nothing that the caller may read holds any, where the lexical arm found nothing
-- that could tell (lexical.sql tells it otherwise). One row: an array, null where there are none.
-- Index: posting_pkey (tenant, analyser, term), then chunk_lexical_pkey and document_pkey until one chunk may be read.
with term as materialized (
    select analyser, term, lexeme, places from veraz.query_terms(%(question)s, %(analyser)s)
), seen as materialized (
    select t.places from term t
     where exists (
            select from (select u.chunk_no
                           from veraz.posting p, unnest(p.chunk_nos) as u (chunk_no)
                          where p.tenant_id = veraz.current_tenant() and p.analyser = t.analyser and p.term = t.term and p.n > 0
                          limit 1000) c
             cross join lateral (
                    select document_id from veraz.chunk_lexical l
                     where l.tenant_id = veraz.current_tenant() and l.chunk_no = c.chunk_no and l.is_current offset 0) l
             cross join lateral (
                    select from veraz.document d
                     where d.tenant_id = veraz.current_tenant() and d.document_id = l.document_id and d.deleted_at is null
                       and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until) offset 0) d)
)
select array_agg(distinct t.lexeme)
  from term t cross join lateral unnest(t.places) place
 where not exists (select from seen s where place = any (s.places))
