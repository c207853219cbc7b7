-- Purpose: of lexical candidates in another language than the question's, how much a chunk would score there that held all of the question
-- once; and what a word that nothing holds would weigh there, and in the question's own language, null where nothing is in that. Such a
-- word counts in the first as well. Texts in no language are in no other one.
-- Rows: one a candidate in another language. Index: posting_pkey (tenant, analyser, term); chunk_lexical (tenant, chunk_id) and
-- document_pkey, once per candidate.
with size as materialized (
    select analyser, chunks, ln(1 + (chunks + 0.5) / 0.5) as rarest
      from (select analyser, sum(chunks)::double precision as chunks
              from veraz.lexical_stat where tenant_id = veraz.current_tenant() group by analyser having sum(chunks) > 0) s
), term as materialized (
    select t.analyser, t.weight, t.places, s.chunks, s.rarest, coalesce(p.n, 0) as n
      from veraz.query_terms(%(question)s, %(analyser)s) t
      join size s using (analyser)
     cross join lateral (
            select sum(n) as n from veraz.posting
             where tenant_id = veraz.current_tenant() and analyser = t.analyser and term = t.term offset 0) p
), place as (
    select analyser, place,
           coalesce(sum(weight / cardinality(places) * ln(1 + (chunks - n + 0.5) / (n + 0.5))) filter (where n > 0),
                    max(rarest)) as idf
      from term cross join lateral unnest(places) place
     group by analyser, place
    union all
    select analyser, null, weight * ln(1 + (chunks - n + 0.5) / (n + 0.5)) from term where places is null and n > 0
), whole as materialized (
    select analyser, sum(idf) as idf from place group by analyser
)
select c.chunk_id, w.idf as whole, s.rarest, (select rarest from size where analyser = %(analyser)s) as own_rarest
  from unnest(%(chunk_ids)s::uuid[]) as c (chunk_id)
 cross join lateral (
        select document_id, analyser from veraz.chunk_lexical o
         where o.tenant_id = veraz.current_tenant() and o.chunk_id = c.chunk_id offset 0) l
 cross join lateral (
        select from veraz.document d
         where d.tenant_id = veraz.current_tenant() and d.document_id = l.document_id and d.deleted_at is null
           and veraz.may_read(d.acl, d.acl_rule, d.owner, d.readable_from, d.readable_until) offset 0) d
  join whole w on w.analyser = l.analyser
  join size s on s.analyser = l.analyser
 where l.analyser not in (%(analyser)s, 'xx')
