"""Golden files of the schema and of the privileges, so that a change of either is read in review.

python -m tests.support.golden          writes tests/schema/golden/*.txt from a fresh database
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from tests.support import databases

FOLDER = Path(__file__).resolve().parents[1] / "schema" / "golden"
MAJOR = 18
"""The server version whose wording the files hold: another one prints definitions differently."""

TABLES: LiteralString = """
select c.relname, format('table %s%s%s', c.relname, case when c.relrowsecurity then ' rls' else '' end,
                         case when c.relforcerowsecurity then ' forced' else '' end)
       || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')
       || ' owner ' || pg_get_userbyid(c.relowner)
  from pg_class c where c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') order by 1
"""
COLUMNS: LiteralString = """
select c.relname, format('    %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                         case when a.attnotnull then ' not null' else '' end,
                         coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''),
                         case a.attidentity when 'a' then ' identity' else '' end)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
 where c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') order by c.relname, a.attnum
"""
CONSTRAINTS: LiteralString = """
select c.relname, '    ' || pg_get_constraintdef(k.oid) from pg_constraint k join pg_class c on c.oid = k.conrelid
 where c.relnamespace = 'veraz'::regnamespace and k.contype <> 'n' order by c.relname, k.contype, 2
"""
INDEXES: LiteralString = """
select c.relname, '    ' || pg_get_indexdef(i.indexrelid) from pg_index i join pg_class c on c.oid = i.indrelid
 where c.relnamespace = 'veraz'::regnamespace order by c.relname, 2
"""
POLICIES: LiteralString = """
select tablename, format('    policy %s %s for %s to %s using (%s)%s', policyname, lower(permissive), lower(cmd),
                         array_to_string(roles, ', '), regexp_replace(qual, '\\s+', ' ', 'g'),
                         case when with_check is null then '' else format(' check (%s)', with_check) end)
  from pg_policies where schemaname = 'veraz' order by tablename, policyname
"""
REST: LiteralString = """
select 'sequence ' || relname from pg_class where relnamespace = 'veraz'::regnamespace and relkind = 'S'
union all
select 'view ' || relname || coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '')
       || ' owner ' || pg_get_userbyid(relowner)
  from pg_class where relnamespace = 'veraz'::regnamespace and relkind in ('v', 'm')
union all
select format('function %s(%s) returns %s %s %s %s%s owner %s body %s', p.proname, pg_get_function_identity_arguments(p.oid),
              pg_get_function_result(p.oid), l.lanname,
              case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
              case p.proparallel when 's' then 'parallel safe' else 'parallel unsafe' end,
              case when p.prosecdef then ' SECURITY DEFINER' else '' end,
              pg_get_userbyid(p.proowner), md5(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc)))
  from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = 'veraz'::regnamespace
union all
select format('text search %s: %s', c.cfgname,
              string_agg(format('%s %s', t.alias, d.dictname), ', ' order by t.alias, m.mapseqno))
  from pg_ts_config c join pg_ts_config_map m on m.mapcfg = c.oid join pg_ts_dict d on d.oid = m.mapdict
  join lateral ts_token_type(c.cfgparser) t on t.tokid = m.maptokentype
 where c.cfgnamespace = 'veraz'::regnamespace and t.alias in ('asciiword', 'word', 'hword_part') group by c.cfgname
 order by 1
"""
PRIVILEGES: LiteralString = """
with granted (object, grantee, privilege) as (
    select 'schema veraz', a.grantee, a.privilege_type from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = 'veraz'
    union all
    select case c.relkind when 'S' then 'sequence ' when 'v' then 'view ' when 'm' then 'view ' else 'table ' end
           || c.relname, a.grantee, a.privilege_type
      from pg_class c, aclexplode(c.relacl) a
     where c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p', 'S', 'v', 'm')
    union all
    select 'table ' || c.relname, a.grantee, a.privilege_type || ' (' || t.attname || ')'
      from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
     where c.relnamespace = 'veraz'::regnamespace
    union all
    select 'function ' || p.proname, a.grantee, a.privilege_type
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where p.pronamespace = 'veraz'::regnamespace
)
select object, case grantee when 0 then 'PUBLIC' else pg_get_userbyid(grantee) end,
       string_agg(distinct lower(privilege), ', ' order by lower(privilege))
  from granted where grantee = 0 or pg_get_userbyid(grantee) <> 'veraz_owner' group by 1, 2 order by 1, 2
"""
ROLES: LiteralString = """
select format('role %s%s%s%s%s%s%s%s%s%s', rolname, case when rolcanlogin then ' login' else ' nologin' end,
              case when rolsuper then ' SUPERUSER' else '' end,
              case when rolbypassrls then ' BYPASSRLS' else '' end,
              case when rolcreaterole then ' CREATEROLE' else '' end,
              case when rolcreatedb then ' CREATEDB' else '' end,
              case when rolreplication then ' REPLICATION' else '' end,
              case when rolinherit then '' else ' noinherit' end,
              coalesce(' member of ' || (select string_agg(pg_get_userbyid(roleid), ', ' order by 1)
                                           from pg_auth_members where member = r.oid), ''),
              coalesce(' with ' || (select string_agg(unnest, ', ' order by 1)
                                      from pg_db_role_setting, unnest(setconfig) where setrole = r.oid), ''))
  from pg_roles r where rolname ~ '^veraz_(owner|app|ops|auth)$' order by 1
"""
DEFAULTS: LiteralString = """
select format('default privileges of %s%s: %s: %s: %s', pg_get_userbyid(d.defaclrole), coalesce(' in ' || n.nspname, ''),
              case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions'
                                     when 'T' then 'types' else 'schemas' end,
              case a.grantee when 0 then 'PUBLIC' else pg_get_userbyid(a.grantee) end,
              string_agg(lower(a.privilege_type), ', ' order by lower(a.privilege_type)))
  from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
 where pg_get_userbyid(d.defaclrole) ~ '^veraz_' or n.nspname = 'veraz'
 group by d.oid, d.defaclrole, n.nspname, d.defaclobjtype, a.grantee order by 1
"""


def schema(url: str) -> str:
    """Tables with columns, constraints, indexes and policies; then sequences, functions and text search configurations."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(TABLES).fetchall()
        parts = [_grouped(connection, query) for query in (COLUMNS, CONSTRAINTS, INDEXES, POLICIES)]
        rest = [row[0] for row in connection.execute(REST).fetchall()]
    lines = [
        line
        for name, head in tables
        for line in (head, *(entry for part in parts for entry in part.get(name, ())))
    ]
    return "\n".join([*lines, *rest]) + "\n"


def _grouped(connection: psycopg.Connection[Any], query: LiteralString) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, line in connection.execute(query).fetchall():
        found.setdefault(name, []).append(line)
    return found


def privileges(url: str) -> str:
    """Roles with attributes, memberships and settings; one line per object and grantee, columns included. What is not here is
    refused."""
    with psycopg.connect(url) as connection:
        roles = [row[0] for query in (ROLES, DEFAULTS) for row in connection.execute(query).fetchall()]
        rows = connection.execute(PRIVILEGES).fetchall()
    return "\n".join([*roles, *(f"{what}: {who}: {may}" for what, who, may in rows)]) + "\n"


DUMPS = {"schema.txt": schema, "privileges.txt": privileges}


def differences(name: str, url: str) -> str:
    """A unified diff from the golden file to what the database has; empty when they agree."""
    golden = (FOLDER / name).read_text(encoding="utf-8").splitlines(keepends=True)
    found = DUMPS[name](url).splitlines(keepends=True)
    return "".join(difflib.unified_diff(golden, found, f"golden/{name}", "database", n=1))


def main() -> None:
    from tests.db.server_fixture import test_server

    server = test_server()
    FOLDER.mkdir(exist_ok=True)
    with databases.fresh(server, databases.schema_template(server)) as url:
        for name, dump in DUMPS.items():
            (FOLDER / name).write_text(dump(url), encoding="utf-8")
            print(f"wrote {FOLDER / name}")


if __name__ == "__main__":
    main()
