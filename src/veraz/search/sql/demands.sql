-- Purpose: whether the marks of a question demand anything under any analyser of the corpus: quotations of stop words alone do not. One row.
-- Index: lexical_epoch_pkey.
select coalesce(bool_or(veraz.condition(analyser, %(analyser)s::text, %(condition)s::jsonb) is not null), false)
  from veraz.lexical_epoch where tenant_id = veraz.current_tenant()
