-- Purpose: the index that a space has, made anew over the copy.
create index {index} on {copy} using hnsw (vec {operators}) with (m = {m}, ef_construction = {ef_construction})
