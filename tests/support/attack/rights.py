"""What the runtime login may do, and whom it can become."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import LiteralString

from psycopg import sql

from tests.support import golden
from tests.support.attack import attackers
from tests.support.attack.outcome import REFUSED, Leaks
from tests.support.attack.registry import (
    TABLES,
    Shows,
)
from tests.support.attack.siege import Siege


def privileges(siege: Siege) -> Leaks:
    """The runtime login and everybody may do what the golden file says, counted with what memberships and PUBLIC bring."""
    wanted, found = _granted(), []
    for role in ("veraz_app", "public"):
        for what, privilege, names in _effective(siege, role):
            expected = wanted.get((role, what, privilege), set())
            found += [f"{role} may {privilege} {what} {n}" for n in sorted(set(names) - expected)]
            if role == "veraz_app":
                found += [f"{role} may not {privilege} {what} {n}" for n in sorted(expected - set(names))]
    return found


def _granted() -> dict[tuple[str, str, str], set[str]]:
    """From the golden file: (role, kind of object, privilege) to names; columns as table.column."""
    wanted: dict[tuple[str, str, str], set[str]] = {}
    for line in (golden.FOLDER / "privileges.txt").read_text(encoding="utf-8").splitlines():
        if not (parts := re.fullmatch(r"(table|sequence|function|schema) (\S+): (\S+): (.*)", line)):
            continue
        kind, name, role, listed = parts.groups()
        for entry in listed.split(", "):
            column = re.fullmatch(r"(\w+) \((\w+)\)", entry)
            key = (role.lower(), "column" if column else kind, column[1] if column else entry)
            wanted.setdefault(key, set()).add(f"{name}.{column[2]}" if column else name)
    return wanted


def _effective(siege: Siege, role: str) -> Iterator[tuple[str, str, list[str]]]:
    for privilege in ("select", "insert", "update", "delete", "truncate", "references", "trigger"):
        query = (
            "select relname from pg_class where relnamespace = 'veraz'::regnamespace and relkind in ('r', 'p', 'v', 'm')"
            " and has_table_privilege(%s, oid, %s)"
        )
        yield "table", privilege, [row[0] for row in siege.truth(query, [role, privilege])]
    for privilege in ("select", "insert", "update", "references"):
        query = (
            "select relname || '.' || attname from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0"
            " where not attisdropped and relnamespace = 'veraz'::regnamespace and relkind in ('r', 'p')"
            " and has_column_privilege(%s, c.oid, attnum, %s)"
            " and not has_table_privilege(%s, c.oid, %s)"
        )
        yield "column", privilege, [row[0] for row in siege.truth(query, [role, privilege, role, privilege])]
    for privilege in ("select", "update", "usage"):
        query = (
            "select relname from pg_class where relnamespace = 'veraz'::regnamespace and case when relkind = 'S'"
            " then has_sequence_privilege(%s, oid, %s) end"
        )
        yield "sequence", privilege, [row[0] for row in siege.truth(query, [role, privilege])]
    query = (
        "select distinct proname from pg_proc where pronamespace = 'veraz'::regnamespace"
        " and has_function_privilege(%s, oid, 'execute')"
    )
    yield "function", "execute", [row[0] for row in siege.truth(query, [role])]
    for privilege in ("usage", "create"):
        query = (
            "select nspname from pg_namespace where nspname = 'veraz' and has_schema_privilege(%s, oid, %s)"
        )
        yield "schema", privilege, [row[0] for row in siege.truth(query, [role, privilege])]


OUTSIDE: tuple[LiteralString, ...] = (
    "select pg_read_file('PG_VERSION')",
    "select pg_ls_dir('.')",
    "select lo_import('/etc/passwd')",
    "copy veraz.synonym to program 'cat'",
    "copy (select 1) to '/tmp/veraz_taken'",
    "select * from pg_authid",
    "select * from pg_statistic",
    "select pg_reload_conf()",
    "create function veraz.mine() returns integer language sql return 1",
    "create extension file_fdw",
    "create publication taken for all tables",
    "set session_replication_role = replica",
    "set log_statement = 'all'",
)


def roles(siege: Siege) -> Leaks:
    """The runtime login can become nobody else, has no attribute that lifts policies, and reaches nothing outside its tables."""
    found = [
        f"veraz_app has {name}"
        for name, held in siege.truth(
            "select unnest(array['SUPERUSER', 'BYPASSRLS', 'CREATEROLE', 'CREATEDB', 'REPLICATION']),"
            " unnest(array[rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication])"
            " from pg_roles where rolname = 'veraz_app'"
        )
        if held
    ]
    if found:  # the commands below would be done
        return found
    with siege.acting(attackers.nobodies()[0]):
        for (role,) in siege.truth("select rolname from pg_roles where rolname <> 'veraz_app' order by 1"):
            outcome = siege.attempt(sql.SQL("set local role {}").format(sql.Identifier(role)))
            found += [] if outcome.sqlstate == REFUSED else [f"veraz_app becomes {role}: {outcome}"]
        for command in OUTSIDE:
            outcome = siege.attempt(command)
            found += [] if outcome.sqlstate == REFUSED else [f"{command}: {outcome}"]
    return found


def definers(siege: Siege) -> Leaks:
    """One function runs with rights of its own, owned by the role that may read keys alone, with its search_path pinned."""
    return [
        f"{name} runs as {who} with {settings}"
        for name, who, settings in siege.truth(
            "select proname, pg_get_userbyid(proowner)::text, proconfig from pg_proc"
            " where pronamespace = 'veraz'::regnamespace and prosecdef order by 1"
        )
        if (name, who, settings) != ("authenticate", "veraz_auth", ["search_path=pg_catalog, pg_temp"])
    ]


def policies(siege: Siege) -> Leaks:
    """Enabled, forced, and of the runtime role's no more and no wider than what every table of a tenant has."""
    found = []
    tenant = "(tenant_id = veraz.current_tenant())"
    for name, enabled, forced in siege.truth(
        "select relname, relrowsecurity, relforcerowsecurity from pg_class"
        " where relnamespace = 'veraz'::regnamespace and relkind in ('r', 'p')"
    ):
        if TABLES.get(name) is Shows.EVERYTHING:
            continue
        permissive = siege.truth(
            "select qual, with_check from pg_policies where schemaname = 'veraz' and tablename = %s and permissive = 'PERMISSIVE'"
            " and roles && '{veraz_app, public}'",
            [name],
        )
        found += [] if enabled and forced else [f"{name}: enabled {enabled}, forced {forced}"]
        found += [f"{name}: {p}" for p in permissive if p != (tenant, tenant)]
        found += [] if permissive else [f"{name} has no policy"]
    return found
