-- Purpose: keep one search or answer. Readable later by who holds all the roles it was made with.
insert into veraz.trace (tenant_id, trace_id, kind, roles, question, outcome, record)
values (veraz.current_tenant(), %(trace_id)s, %(kind)s, veraz.current_roles(), %(question)s, %(outcome)s, %(record)s)
