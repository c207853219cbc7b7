"""Is retrieval good, and is it better than before? Judged queries in, measures with their uncertainty out."""
