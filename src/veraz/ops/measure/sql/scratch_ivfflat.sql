-- Purpose: an inverted file of clusters over the copy.
create index {index} on {copy} using ivfflat (vec halfvec_cosine_ops) with (lists = {lists})
