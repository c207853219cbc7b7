-- Purpose: an index of pg_textsearch over the current chunks of one tenant in one language. As the owner. One tenant alone: the statistics
-- of such an index are of all that it holds, whatever policies hide. Written for pg_textsearch 1.5; not run against it.
create index {index} on veraz.chunk using bm25 ((header || E'\n\n' || context || E'\n\n' || coalesce(embedded, display)))
  with (text_config = {text_config}, k1 = 1.5, b = 0.75)
 where tenant_id = {tenant}::uuid and is_current and (lang = any ({langs})) = {listed}
