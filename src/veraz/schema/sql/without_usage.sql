-- Purpose: which of these roles cannot use the schema of the extensions yet. One row a role.
select r from unnest(%(roles)s::text[]) r where not has_schema_privilege(r, %(schema)s, 'usage')
