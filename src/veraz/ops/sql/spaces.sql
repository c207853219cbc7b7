-- Purpose: every embedding space. One row per space.
select space_id, name, provider, model, dimension, normalised, query_prefix, passage_prefix, distance, max_tokens, fingerprint, is_active
  from veraz.embedding_space order by space_id
