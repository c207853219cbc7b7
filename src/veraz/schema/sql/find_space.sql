-- Purpose: a space by its name. At most one row.
select space_id from veraz.embedding_space where name = %s
