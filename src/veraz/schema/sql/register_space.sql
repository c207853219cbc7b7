-- Purpose: a new space; active when it is the first. One row: its id.
insert into veraz.embedding_space
    (name, provider, model, dimension, normalised, query_prefix, passage_prefix, distance, max_tokens, fingerprint, is_active)
values (%(name)s, %(provider)s, %(model)s, %(dimension)s, %(normalised)s, %(query_prefix)s, %(passage_prefix)s, %(distance)s,
        %(max_tokens)s, %(fingerprint)s, not exists (select from veraz.embedding_space where is_active))
returning space_id
