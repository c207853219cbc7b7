-- Purpose: how far the approximate indexes look in this transaction, and that a filtered scan goes on until it has enough: whichever
-- index the space has when the arm is asked. One row.
select set_config('hnsw.ef_search', %(ef_search)s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true), set_config('ivfflat.probes', %(probes)s, true),
       set_config('ivfflat.iterative_scan', 'relaxed_order', true), set_config('ivfflat.max_probes', %(max_probes)s, true)
