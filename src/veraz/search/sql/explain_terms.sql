-- Purpose: the question's terms as the lexical arm sees them, and in how many of the chunks that the caller may read each occurs. Scores
-- weigh terms by the whole tenant's corpus; what is shown here counts nothing that is hidden. One row per term. For --explain alone:
-- it reads the lexical rows of every permitted document. Index: chunk_lexical (tenant, document), posting_pkey (tenant, analyser, term).
with permitted as materialized (
    select l.analyser, l.chunk_no
      from veraz.document d
      join veraz.chunk_lexical l on l.tenant_id = veraz.current_tenant() and l.document_id = d.document_id and l.is_current
     where d.tenant_id = veraz.current_tenant() and d.deleted_at is null
       and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until)
), size as (
    select analyser, count(*)::double precision as chunks from permitted group by analyser
)
select t.analyser, t.lexeme, t.weight, p.chunks, t.weight * ln(1 + (n.chunks - p.chunks + 0.5) / (p.chunks + 0.5)) as idf
  from veraz.query_terms(%(question)s, %(analyser)s) t
  join size n using (analyser)
 cross join lateral (
        select count(*) as chunks from permitted m
         where m.analyser = t.analyser
           and m.chunk_no in (select u.chunk_no from veraz.posting o, unnest(o.chunk_nos) as u (chunk_no)
                               where o.tenant_id = veraz.current_tenant() and o.analyser = t.analyser and o.term = t.term
                               group by u.chunk_no having sum(sign(o.n)) > 0)) p
 order by idf desc, t.lexeme
