-- Purpose: the best current chunks of the tenant by pg_search. Candidates: ../../sql/engine_permitted.sql looks at each of them.
-- Rows: at most `depth`, best first. Scores: BM25 of that index, higher is better; of any of the question's words.
-- Index: chunk_pg_search, which is built over the same expression (schema/sql/build_pg_search.sql).
-- One table alone: of a join with a score, releases of pg_search have forgotten conditions, policies among them.
-- Written for pg_search 0.27; not run against it.
select c.chunk_id, pdb.score(c.chunk_id)::double precision as score
  from veraz.chunk c
 where (c.header || E'\n\n' || c.context || E'\n\n' || coalesce(c.embedded, c.display)) ||| %(question)s::text
   and c.tenant_id = veraz.current_tenant() and c.is_current
 order by pdb.score(c.chunk_id) desc, c.chunk_id
 limit %(depth)s
