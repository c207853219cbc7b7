create index on recipe using hnsw (embedding vector_cosine_ops)
