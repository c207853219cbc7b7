-- Purpose: the space whose table a statement over both arms names, where the semantic arm is not asked. At most one row.
select space_id from veraz.embedding_space where is_active
