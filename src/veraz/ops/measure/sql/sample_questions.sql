-- Purpose: questions of stored traces that the caller may read, each once, in an order that only `seed` decides. At most `count` rows. A
-- question whose text went with an erased document is none. Index: trace_pkey.
select t.question, max(t.record ->> 'lang') as lang
  from veraz.trace t
 where t.tenant_id = veraz.current_tenant() and t.roles <@ veraz.current_roles() and t.question <> '[erased]' and t.question ~ '[[:alnum:]]'
 group by t.question
 order by md5(t.question || %(seed)s::text), t.question
 limit %(count)s
