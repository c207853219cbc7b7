-- Purpose: which of these roles exist, and which this login can act as and has the rights of. One row a role.
select rolname::text, pg_has_role(current_user, oid, %(power)s) and pg_has_role(current_user, oid, 'usage') from pg_roles where rolname = any (%(roles)s)
