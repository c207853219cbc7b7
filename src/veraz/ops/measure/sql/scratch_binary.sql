-- Purpose: an index of signs over the copy.
create index {index} on {copy} using hnsw ({column} bit_hamming_ops) with (m = {m}, ef_construction = {ef_construction})
