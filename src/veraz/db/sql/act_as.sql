-- Purpose: who acts in this transaction and how, for row-level security. One row, returns nothing of use.
-- Settings are local to the transaction, so that a pooled connection carries nothing over.
-- Readers ask for custom plans: a partial index is matched against literals, and a generic plan loses it. Writers run the same
-- few statements thousands of times and keep their plans. For readers a sequential scan is the last resort: it would read the rows of
-- every tenant to throw them away, and every statement of a search has an index by tenant. Compiling costs more than it saves here.
select set_config('role', %(role)s, true), set_config('veraz.tenant_id', %(tenant_id)s, true),
       set_config('veraz.roles', %(roles)s, true), set_config('veraz.mode', %(mode)s, true),
       set_config('search_path', %(search_path)s, true), set_config('plan_cache_mode', %(plans)s, true),
       set_config('enable_seqscan', case when %(mode)s = 'read' then 'off' else 'on' end, true), set_config('jit', 'off', true)
