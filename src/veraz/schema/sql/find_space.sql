-- Purpose: a space by its name, as it was registered. At most one row.
select space_id, name, provider, model, dimension, normalised, query_prefix, passage_prefix, distance, max_tokens, fingerprint
  from veraz.embedding_space where name = %s
