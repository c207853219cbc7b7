-- Purpose: an extension by its name: its version in this database, the version that the server could install, and its schema. At most one
-- row. Reads the catalogue.
select e.extversion, a.default_version, e.extnamespace::regnamespace::text
  from (select %(name)s::text as name) w
  left join pg_extension e on e.extname = w.name
  left join pg_available_extensions a on a.name = w.name
