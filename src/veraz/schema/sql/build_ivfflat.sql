-- Purpose: an inverted file of clusters over a space's current vectors. As the owner, beside the index that searches walk.
create index {index} on {embedding} using ivfflat (vec {operators}) with (lists = {lists}) where is_current
