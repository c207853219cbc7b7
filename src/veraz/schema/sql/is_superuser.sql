-- Purpose: whether this login needs to be granted the roles that it made. One row.
select rolsuper from pg_roles where rolname = current_user
