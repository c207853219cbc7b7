-- Purpose: one stored trace by its id or a unique beginning of it. At most two rows. Index: trace_pkey.
select trace_id, kind, created_at, roles, question, outcome, record from veraz.trace
 where tenant_id = veraz.current_tenant() and trace_id between %(lowest)s and %(highest)s
   and roles <@ veraz.current_roles() limit 2
