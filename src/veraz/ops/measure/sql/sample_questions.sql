-- Purpose: questions of stored traces that the caller may read, each once, in an order that only `seed` decides. At most `count` rows. A
-- question whose text went with an erased document is none. Index: trace_pkey.
select question, max(record ->> 'lang') as lang
  from veraz.trace
 where tenant_id = veraz.current_tenant() and roles <@ veraz.current_roles() and question <> '[erased]' and question ~ '[[:alnum:]]'
 group by question
 order by md5(question || %(seed)s::text), question
 limit %(count)s
