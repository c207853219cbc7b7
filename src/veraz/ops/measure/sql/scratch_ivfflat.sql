-- Purpose: an inverted file of clusters over the copy.
create index {index} on {copy} using ivfflat (vec {operators}) with (lists = {lists})
