-- Every word of the question, as websearch_to_tsquery reads it, ordered by cover density.
-- Two lists of twice as many as are wanted, fused by reciprocal rank with k = 60.
with words as materialized (
    select websearch_to_tsquery('english', %(question)s) as query
), lexical as (
    select id, row_number() over (order by score desc) as place
      from (select r.id, ts_rank_cd(r.fts, w.query) as score
              from recipe r, words w
             where r.fts @@ w.query
             order by score desc
             limit %(pool)s) best
), semantic as (
    select id, row_number() over (order by distance) as place
      from (select id, embedding <=> %(vector)s::vector as distance
              from recipe
             order by embedding <=> %(vector)s::vector
             limit %(pool)s) nearest
)
select coalesce(l.id, s.id) as id
  from lexical l full join semantic s on s.id = l.id
 order by coalesce(1.0 / (60 + l.place), 0) + coalesce(1.0 / (60 + s.place), 0) desc
 limit %(k)s
