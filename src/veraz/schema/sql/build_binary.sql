-- Purpose: a graph over the signs of a space's current vectors. As the owner, beside the index that searches walk.
create index {index} on {embedding} using hnsw ((binary_quantize(vec)::bit({dimension})) bit_hamming_ops)
       with (m = {m}, ef_construction = {ef_construction}) where is_current;
alter index {index_of_schema} alter column 1 set statistics 0; -- samples of signs would outlive an erased text
