-- Purpose: a graph over a space's current vectors. As the owner, beside the index that searches walk.
create index {index} on {embedding} using hnsw (vec {operators}) with (m = {m}, ef_construction = {ef_construction}) where is_current
