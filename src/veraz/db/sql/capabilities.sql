-- Purpose: version, encoding, extensions and rights of this connection. One row.
select current_setting('server_version'), current_setting('server_version_num')::integer, current_setting('server_encoding'),
       r.rolsuper, r.rolcreaterole or r.rolsuper,
       (select jsonb_agg(jsonb_build_object('name', a.name, 'available', a.default_version, 'installed', e.extversion,
                                            'schema', e.extnamespace::regnamespace::text))
          from pg_available_extensions a left join pg_extension e on e.extname = a.name
         where a.name in ('vector', 'pg_trgm', 'unaccent'))
  from pg_roles r where r.rolname = current_user
