-- Purpose: who acts in this transaction and how, for row-level security. One row, returns nothing of use.
-- Settings are local to the transaction, so that a pooled connection carries nothing over.
-- A tenant's transactions (their mode is never empty) are refused while it is disabled: SQLSTATE VZ001. Index: tenant_pkey.
-- Readers ask for custom plans, but for statements that look up by key: a partial index is matched against literals, and a generic plan
-- loses it. Writers run the same few statements thousands of times and keep their plans. It is set last, so that the check above it keeps its plan.
-- For readers a sequential scan is the last resort: it would read the rows of every tenant to throw them away, and every statement of a
-- search has an index by tenant. Compiling costs more than it saves here.
select case when acting.mode <> '' then veraz.refuse_disabled(acting.tenant_id::uuid) end, set_config('plan_cache_mode', %(plans)s, true)
  from (select set_config('role', %(role)s, true), set_config('veraz.tenant_id', %(tenant_id)s, true) as tenant_id,
               set_config('veraz.roles', %(roles)s, true), set_config('veraz.mode', %(mode)s, true) as mode,
               set_config('enable_seqscan', case when %(mode)s = 'read' then 'off' else 'on' end, true), set_config('jit', 'off', true),
               set_config('search_path', %(search_path)s, true) offset 0) acting
