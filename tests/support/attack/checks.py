"""The checks. Each takes a siege, some a table as well, and lists what leaked: nothing where the database holds."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any, LiteralString
from uuid import UUID, uuid4

from psycopg import sql

from tests.support import golden
from tests.support.attack import attackers, parameters
from tests.support.attack.attackers import Attacker
from tests.support.attack.registry import (
    FUNCTIONS,
    KEYS_WITHOUT_TENANT,
    SEQUENCES,
    STATEMENTS,
    TABLES,
    VIEWS,
    Entry,
    Kind,
    Shows,
)
from tests.support.attack.siege import Outcome, Row, Siege
from tests.support.corpus import table
from veraz.db.statements import embedding_table, statement

Leaks = list[str]
Texts = Mapping[str, sql.Composable]
"""Statements in place of the files of these names."""
REFUSED = "42501"
FOREIGN_KEY, UNIQUE = "23503", "23505"
TENANT_CONTENT = ("chunk_lexical", "embedding_1", "lexeme_stat", "posting")


# --- nothing is forgotten


def registered(siege: Siege, files: list[str] | None = None) -> Leaks:
    """Every table, view, sequence, function and statement file has an expectation, and every expectation its object."""
    kinds: tuple[tuple[str, LiteralString, set[str]], ...] = (
        ("table", "relkind in ('r', 'p', 'f')", set(TABLES)),
        ("view", "relkind in ('v', 'm')", set(VIEWS)),
        ("sequence", "relkind = 'S'", set(SEQUENCES)),
    )
    found = []
    for kind, condition, expected in kinds:
        query = sql.SQL("select relname from pg_class where relnamespace = 'veraz'::regnamespace and {}")
        names = {row[0] for row in siege.truth(query.format(sql.SQL(condition)))}
        found += _differ(kind, names, expected)
    called = siege.truth(
        "select proname, count(*) from pg_proc where pronamespace = 'veraz'::regnamespace group by 1"
    )
    found += [f"function {name} has {n} forms and one expectation" for name, n in called if n > 1]
    found += _differ("function", {name for name, _ in called}, set(FUNCTIONS))
    return found + _differ("statement", set(statement_files() if files is None else files), set(STATEMENTS))


def _differ(kind: str, names: set[str], expected: set[str]) -> Leaks:
    fix = "decide what it may show, in tests/support/attack/registry.py"
    return [f"{kind} {n} is not registered: {fix}" for n in sorted(names - expected)] + [
        f"{kind} {n} is registered and does not exist" for n in sorted(expected - names)
    ]


def statement_files() -> list[str]:
    root = resources.files("veraz")
    return sorted(
        f"{folder.name}/{file.name.removesuffix('.sql')}"
        for folder in root.iterdir()
        if folder.is_dir() and folder.joinpath("sql").is_dir()
        for file in folder.joinpath("sql").iterdir()
        if file.name.endswith(".sql")
    )


def stocked(siege: Siege) -> Leaks:
    """Every table of tenants holds rows of both: else the other checks could not fail."""
    both = {str(siege.world.alpha), str(siege.world.beta)}
    return [
        f"{name} holds rows of {len(owners)} of the two tenants: add some in tests/support/tenants.py"
        for name, owned in siege.tables.items()
        if owned and (owners := {row.values["tenant_id"] for row in siege.dump(name)}) != both
    ]


# --- reading tables


def rows(siege: Siege, name: str) -> Leaks:
    """Each way of reading a table gives each attacker the rows that are its own by the definition, no more and no fewer."""
    shows, dump = TABLES.get(name, Shows.TENANT), siege.dump(name)
    found = []
    for attacker in (attackers.reader(siege.world), *attackers.everybody(siege.world)):
        expected = {row.ctid for row in dump if _visible(siege, attacker, shows, row)}
        with siege.acting(attacker):
            if shows is Shows.NOTHING:
                outcome = siege.attempt(sql.SQL("select ctid from {}").format(table(name)))
                found += [] if outcome.sqlstate else [f"{name}: {attacker.name} may read it"]
                continue
            for way, seen in _ways_of_reading(siege, name):
                found += _compare(f"{name}, {way}: {attacker.name}", seen, expected)
    return found


def _visible(siege: Siege, attacker: Attacker, shows: Shows, row: Row) -> bool:
    if shows is Shows.EVERYTHING:
        return True
    mine = attacker.tenant_id is not None and row.values["tenant_id"] == str(attacker.tenant_id)
    if shows is Shows.DOCUMENT:
        document = row.values.get("document_id") or _document_of(siege, row.values["revision_id"])
        return mine and any(
            str(d["document_id"]) == document and siege.may_read(attacker, d) for d in siege.documents
        )
    if shows is Shows.TRACE:
        return mine and siege.may_read_trace(attacker, row.values)
    return mine and shows is Shows.TENANT


def _document_of(siege: Siege, revision: str) -> str:
    return next(str(d["document_id"]) for d in siege.documents if UUID(revision) in d["revisions"])


def _ways_of_reading(siege: Siege, name: str) -> Iterator[tuple[str, Outcome | set[str] | int]]:
    it = table(name)
    selected = siege.attempt(sql.SQL("select ctid::text from {}").format(it))
    yield "select", selected if selected.sqlstate else {row[0] for row in selected.rows}
    counted = siege.attempt(sql.SQL("select count(*) from {}").format(it))
    yield "count", counted if counted.sqlstate else int(counted.rows[0][0])
    copied = siege.copied(sql.SQL("copy (select ctid from {}) to stdout").format(it))
    yield "copy of a query", copied if copied.sqlstate else {row[0] for row in copied.rows}
    whole = siege.copied(sql.SQL("copy {} to stdout").format(it))
    yield "copy", whole if whole.sqlstate else whole.count
    plan = siege.attempt(sql.SQL("explain (analyze, timing off, format json) select from {}").format(it))
    yield "explain analyze", plan if plan.sqlstate else int(plan.rows[0][0][0]["Plan"]["Actual Rows"])
    told = _told(siege, it)
    yield "a function that tells", told
    failed = siege.attempt(sql.SQL("select from {} where (ctid::text)::integer = 1").format(it))
    yield "an error message", set(re.findall(r"\(\d+,\d+\)", failed.message)) or 0


def _told(siege: Siege, it: sql.Identifier) -> Outcome | set[str]:
    """What a function cheaper than any policy sees of rows, if the planner lets it look first."""
    siege.notices.clear()
    with siege.connection.transaction(force_rollback=True):
        siege.connection.execute(
            "create function pg_temp.tell(seen text) returns boolean language plpgsql cost 0.000001 as"
            " $$ begin raise notice '%', seen; return true; end $$"
        )
        outcome = siege.attempt(sql.SQL("select from {} where pg_temp.tell(ctid::text)").format(it))
    return outcome if outcome.sqlstate else set(siege.notices)


def _compare(where: str, seen: Outcome | set[str] | int, expected: set[str]) -> Leaks:
    if isinstance(seen, Outcome):  # refused: right where nothing is to be seen
        return [f"{where} is refused its own rows: {seen.message}"] if expected else []
    if isinstance(seen, set):
        if "error" in where:
            return [f"{where} is shown {seen - expected}"] if seen - expected else []
        missing = {f"not {ctid}" for ctid in expected - seen}
        return [f"{where} sees {sorted(seen - expected | missing)}"] if seen != expected else []
    if "error" in where:
        return [f"{where}: no error"] if expected else []
    return [f"{where} counts {seen} of {len(expected)}"] if seen != len(expected) else []


def owner(siege: Siege, name: str) -> Leaks:
    """FORCE: the role that owns the tables sees no tenant's rows either."""
    nobody = attackers.nobodies()[0]
    with siege.acting(nobody, "veraz_owner"):
        outcome = siege.attempt(sql.SQL("select count(*) from {}").format(table(name)))
    return [f"{name}: its owner sees {outcome.rows[0][0]} rows"] if outcome.rows[0][0] else []


# --- writing tables


def writes(siege: Siege, name: str) -> Leaks:
    """Policies hold even if every right on the table were granted: own rows are changed and removed, no row of another tenant is, and
    none is added to another."""
    dump, found = siege.dump(name), []
    foreign = next((row for row in dump if row.values["tenant_id"] == str(siege.world.alpha)), None)
    if foreign is None:
        return [f"{name} holds nothing to attack"]
    for attacker in (
        *attackers.nobodies(),
        *attackers.foreigners(siege.world),
        *attackers.malformed(siege.world),
    ):
        own = len([r for r in dump if r.values["tenant_id"] == str(attacker.tenant_id)])
        with siege.connection.transaction(force_rollback=True):
            siege.connection.execute(sql.SQL("grant all on {} to veraz_app").format(table(name)))
            siege.connection.execute(
                "set local session_replication_role = replica"
            )  # no foreign key comes first
            with siege.acting(attacker):
                found += [
                    f"{name}: {attacker.name} {leak}"
                    for leak in _written(siege, name, attacker, foreign, own)
                ]
    return found


def _written(siege: Siege, name: str, attacker: Attacker, foreign: Row, own: int) -> Iterator[str]:
    mine = attacker.tenant_id or uuid4()
    changed = siege.attempt(sql.SQL("update {} set tenant_id = {}").format(table(name), sql.Literal(mine)))
    if changed.count != own or (own and changed.sqlstate):
        yield f"changes {changed.count} of {own} rows: {changed.message}"
    removed = siege.attempt(sql.SQL("delete from {}").format(table(name)))
    if removed.count != own or (own and removed.sqlstate):
        yield f"removes {removed.count} of {own} rows: {removed.message}"
    if mine == siege.world.alpha:
        return
    given = siege.attempt(
        sql.SQL("update {} set tenant_id = {}").format(table(name), sql.Literal(siege.world.alpha))
    )
    if own and given.sqlstate != REFUSED:
        yield f"gives its rows away: {given}"
    for conflict in ("", " on conflict do nothing"):
        added = siege.attempt(*_insertion(siege, name, foreign.values, conflict))
        if added.sqlstate not in (REFUSED, "22P02", "2202E"):
            yield f"adds a row to another tenant{conflict}: {added}"


def _insertion(
    siege: Siege, name: str, values: Mapping[str, Any], conflict: str = ""
) -> tuple[sql.Composed, list[str]]:
    columns = [
        sql.Identifier(row[0])
        for row in siege.truth(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
            " and attgenerated = ''",
            [f"veraz.{name}"],
        )
    ]
    query = sql.SQL(
        "insert into {table} ({columns}) overriding system value"
        " select {columns} from jsonb_populate_record(null::{table}, %s::jsonb) {conflict}"
    ).format(table=table(name), columns=sql.SQL(", ").join(columns), conflict=sql.SQL(conflict))  # type: ignore[arg-type]
    return query, [json.dumps(values)]


# --- what keys tell

KEYS: LiteralString = """
select k.conname, c.relname, p.relname,
       array(select attname from unnest(k.conkey) with ordinality u (n, i) join pg_attribute a on attrelid = k.conrelid and attnum = u.n order by i),
       array(select attname from unnest(k.confkey) with ordinality u (n, i) join pg_attribute a on attrelid = k.confrelid and attnum = u.n order by i)
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid
 where k.contype = 'f' and c.relnamespace = 'veraz'::regnamespace order by 2, 1
"""
UNIQUE_KEYS: LiteralString = """
select i.indexrelid::regclass::text, c.relname,
       array(select attname from unnest(i.indkey::smallint[]) n join pg_attribute a on attrelid = i.indrelid and attnum = n)
  from pg_index i join pg_class c on c.oid = i.indrelid
 where i.indisunique and c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') order by 1
"""


def keys(siege: Siege) -> Leaks:
    """The tenant stands in every key: no reference can cross, no conflict can tell."""
    found = [
        f"{child}.{name}: the reference does not carry the tenant"
        for name, child, parent, columns, others in siege.truth(KEYS)
        if siege.tables[parent] and ("tenant_id", "tenant_id") not in zip(columns, others, strict=True)
    ]
    for index, name, columns in siege.truth(UNIQUE_KEYS):
        short = index.removeprefix("veraz.")
        if siege.tables[name] and "tenant_id" not in columns and short not in KEYS_WITHOUT_TENANT:
            found.append(f"{name}.{short} is unique over all tenants")
    return found


def references(siege: Siege) -> Leaks:
    """A reference to a row that another tenant has is refused in the same words as one to nothing."""
    found = []
    for constraint, child, _, columns, _ in siege.truth(KEYS):
        probed = [c for c in columns if c != "tenant_id"]
        if probed:
            answers = [_refer(siege, child, constraint, probed, exists=exists) for exists in (True, False)]
            if answers[0] != answers[1]:
                found.append(
                    f"{child}.{constraint}: {answers[0]} for what exists, {answers[1]} for what does not"
                )
            elif answers[0][:2] != (FOREIGN_KEY, constraint):
                found.append(f"{child}.{constraint}: the probe did not reach it: {answers[0]}")
    return found


def _refer(
    siege: Siege, child: str, constraint: str, probed: list[str], *, exists: bool
) -> tuple[str | None, str | None, str]:
    dump = [r.values for r in siege.dump(child)]
    taken = next(
        v for v in dump if v["tenant_id"] == str(siege.world.alpha) and all(v[c] is not None for c in probed)
    )
    new = _fresh(siege, child, _own(siege, dump, probed))
    row = {**new, **{c: taken[c] if exists else _other(taken[c]) for c in probed}}
    foreigner = attackers.foreigners(siege.world)[1]
    with siege.connection.transaction(force_rollback=True):
        for other, table_name, *_ in siege.truth(KEYS):
            if table_name == child and other != constraint:
                command = sql.SQL("alter table {} drop constraint {}")
                siege.connection.execute(command.format(table(child), sql.Identifier(other)))
        siege.connection.execute(sql.SQL("grant insert on {} to veraz_app").format(table(child)))
        siege.connection.execute("set constraints all immediate")
        with siege.acting(foreigner):
            outcome = siege.attempt(*_insertion(siege, child, row))
    told = outcome.message
    for column in probed:
        told = told.replace(str(row[column]), "…")
    return outcome.sqlstate, outcome.constraint, told


def _own(siege: Siege, dump: list[Mapping[str, Any]], needed: list[str]) -> Mapping[str, Any]:
    mine = [v for v in dump if v["tenant_id"] == str(siege.world.beta)]
    return next(v for v in mine if all(v[c] is not None for c in needed))


_numbers = itertools.count(20_000)


def _other(value: object) -> object:
    """A value of the same type that nothing has."""
    if isinstance(value, int):
        return next(_numbers)
    try:
        UUID(str(value))
    except ValueError:
        return r"\x" + uuid4().hex * 2 if str(value).startswith(r"\x") else f"other-{uuid4().hex}"
    return str(uuid4())


def _fresh(siege: Siege, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with new values in every key, so that none of its own rows is in the way."""
    unique = {c for _, t, columns in siege.truth(UNIQUE_KEYS) if t == name for c in columns}
    return {c: _other(v) if c in unique - {"tenant_id"} and v is not None else v for c, v in row.items()}


def conflicts(siege: Siege) -> Leaks:
    """Adding a row under a key that another tenant has meets no conflict."""
    found = []
    foreigner = attackers.foreigners(siege.world)[1]
    for index, name, columns in siege.truth(UNIQUE_KEYS):
        if (
            not siege.tables[name]
            or index.removeprefix("veraz.") in KEYS_WITHOUT_TENANT
            or columns == ["tenant_id"]
        ):
            continue
        dump = [r.values for r in siege.dump(name)]
        shared = [c for c in columns if c != "tenant_id"]
        taken = next(v for v in dump if v["tenant_id"] == str(siege.world.alpha))
        row = {**_fresh(siege, name, _any_of_beta(siege, name, taken)), **{c: taken[c] for c in shared}}
        with siege.connection.transaction(force_rollback=True):
            siege.connection.execute(sql.SQL("grant insert on {} to veraz_app").format(table(name)))
            siege.connection.execute("set local session_replication_role = replica")
            siege.connection.execute(
                sql.SQL("delete from {} where tenant_id = %s").format(table(name)), [siege.world.beta]
            )
            with siege.acting(foreigner):
                outcome = siege.attempt(*_insertion(siege, name, row))
        if outcome.sqlstate:
            found.append(f"{name}.{index}: {outcome.sqlstate} {outcome.message}")
    return found


def _any_of_beta(siege: Siege, name: str, taken: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row that beta could hold: its own, or alpha's under beta's name."""
    mine = [r.values for r in siege.dump(name) if r.values["tenant_id"] == str(siege.world.beta)]
    return mine[0] if mine else {**taken, "tenant_id": str(siege.world.beta)}


# --- rights


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
            "select relname || '.' || attname from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped"
            " where relnamespace = 'veraz'::regnamespace and relkind in ('r', 'p') and has_column_privilege(%s, c.oid, attnum, %s)"
            " and not has_table_privilege(%s, c.oid, %s)"
        )
        yield "column", privilege, [row[0] for row in siege.truth(query, [role, privilege, role, privilege])]
    for privilege in ("select", "update", "usage"):
        query = (
            "select relname from pg_class where relnamespace = 'veraz'::regnamespace and case when relkind = 'S'"
            " then has_sequence_privilege(%s, oid, %s) end"
        )
        yield "sequence", privilege, [row[0] for row in siege.truth(query, [role, privilege])]
    query = "select distinct proname from pg_proc where pronamespace = 'veraz'::regnamespace and has_function_privilege(%s, oid, 'execute')"
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
            " unnest(array[rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication]) from pg_roles where rolname = 'veraz_app'"
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
        "select relname, relrowsecurity, relforcerowsecurity from pg_class where relnamespace = 'veraz'::regnamespace and relkind in ('r', 'p')"
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


# --- views, functions, statements


def views(siege: Siege) -> Leaks:
    """A view shows what its reader may see of the tables below it."""
    found = []
    for name, options in siege.truth(
        "select relname, coalesce(reloptions, '{}') from pg_class where relnamespace = 'veraz'::regnamespace and relkind in ('v', 'm')"
    ):
        if not {"security_invoker=true", "security_invoker=on"} & set(options):
            found.append(f"{name} is read with the rights of its owner")
        for attacker in attackers.everybody(siege.world):
            with siege.acting(attacker):
                shown = siege.attempt(sql.SQL("select * from {}").format(table(name)))
            found += [f"{name} shows {attacker.name} {w}" for w in siege.leaks(attacker, shown.rows)]
    return found


def functions(siege: Siege) -> Leaks:
    """Called with another tenant's ids, or those of a hidden document, a function shows nothing of it and changes nothing."""
    found = []
    aims = list(parameters.aimed(siege))
    for name, entry in FUNCTIONS.items():
        if entry.kind is Kind.PURE:
            found += _same_for_all(siege, name, entry.call, aims[0])
        elif entry.call and entry.kind is not Kind.IDENTITY:
            found += _tried(siege, f"function {name}", sql.SQL(entry.call), entry, aims)
    return found


def _same_for_all(siege: Siege, name: str, call: LiteralString, given: Mapping[str, Any]) -> Leaks:
    answers = []
    for attacker in (
        attackers.nobodies()[0],
        attackers.reader(siege.world),
        attackers.foreigners(siege.world)[0],
    ):
        with siege.acting(attacker):
            answers.append(siege.attempt(call, given))
    if answers[0].sqlstate:
        return [f"function {name}: {answers[0].message}"]
    return [f"function {name} depends on who asks"] if answers[1:] != answers[:-1] else []


def statements(siege: Siege, texts: Texts | None = None) -> Leaks:
    """Every statement file, run with another tenant's ids or those of a hidden document: nothing is shown, nothing is changed."""
    found = []
    aims = list(parameters.aimed(siege))
    for name, entry in STATEMENTS.items():
        if entry.kind not in (Kind.SETTING, Kind.CREDENTIALS):
            found += _tried(siege, name, _text(name, texts), entry, aims)
    return found


def _text(name: str, texts: Texts | None) -> sql.Composable:
    if texts and name in texts:
        return texts[name]
    stage, short = name.split("/")
    text = statement(stage, short)
    return text.format(embedding=embedding_table(1)) if "{embedding}" in text.as_string(None) else text


def _tried(
    siege: Siege, name: str, text: sql.Composable, entry: Entry, aims: list[Mapping[str, Any]]
) -> Leaks:
    known = text.as_string(None)
    if "%s" in known:
        return _tried_as_others(
            siege, name, text, entry, [["veraz"]] if "any (" not in known else [[["vector"]]]
        )
    chosen = [{**given, **entry.changes(given)} for given in _needed(known, aims)]
    unknown = sorted(set(re.findall(r"%\((\w+)\)s", known)) - set(chosen[0]))
    if unknown:
        return [f"{name}: give {unknown} a value in tests/support/attack/parameters.py"]
    leaks = _tried_as_others(siege, name, text, entry, chosen)
    return leaks + (_blind(siege, name, text, chosen) if entry.kind is Kind.CONTENT else [])


def _needed(text: str, aims: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Every document where the statement names one; else one set of values does."""
    single = any(f"%({name})s" in text for name in parameters.NEEDS_ONE_DOCUMENT)
    return aims if single else aims[:1]


def _tried_as_others(siege: Siege, name: str, text: Any, entry: Entry, aims: list[Any]) -> Leaks:
    found = []
    for attacker in _attackers_of(siege, entry.kind):
        for given in _few(aims, attacker, entry.kind):
            if entry.kind is Kind.WRITE:
                outcome, changed = siege.changes_of_others(attacker, text, given)
                found += [f"{name}: {attacker.name} changes {table_name}" for table_name in changed]
            else:
                with siege.acting(attacker):
                    outcome = siege.attempt(text, given)
            found += [
                f"{name} shows {attacker.name} {w}"
                for w in siege.leaks(attacker, (outcome.rows, outcome.message))
            ]
            if (
                entry.kind is Kind.ADMINISTRATION
                and outcome.sqlstate != REFUSED
                and any(map(any, outcome.rows))
            ):
                found.append(f"{name} shows {attacker.name} {outcome.rows}")
    return found


def _few(aims: list[Any], attacker: Attacker, kind: Kind) -> list[Any]:
    """What is refused before any row is, whatever it is aimed at; and a change is looked for in whole tables, which takes long."""
    return aims[:1] if attacker.tenant_id is None else aims[::4] if kind is Kind.WRITE else aims


def _attackers_of(siege: Siege, kind: Kind) -> list[Attacker]:
    if kind is Kind.CONTENT:
        return attackers.everybody(siege.world)
    if kind is Kind.ADMINISTRATION:
        return attackers.nobodies()[:1]
    if kind is Kind.STATISTICS:  # a tenant's figures count what is hidden inside the tenant: SECURITY.md
        return [*attackers.nobodies(), *attackers.foreigners(siege.world), *attackers.malformed(siege.world)]
    return [*attackers.nobodies()[:1], *attackers.foreigners(siege.world)]


def _blind(siege: Siege, name: str, text: Any, aims: list[Any]) -> Leaks:
    with siege.acting(attackers.reader(siege.world)):
        outcomes = [siege.attempt(text, given) for given in aims]
    failed = [o.message for o in outcomes if o.sqlstate]
    return (
        [f"{name} fails: {failed[0]}"]
        if failed
        else []
        if any(o.rows for o in outcomes)
        else [f"{name} shows nobody anything"]
    )


def alone(siege: Siege) -> Leaks:
    """The predicates of the statements themselves: run by a role that policies let see everything, they show what the runtime role sees."""
    return list(shown_alone(siege))


def shown_alone(siege: Siege, texts: Texts | None = None) -> Iterator[str]:
    """The same one by one, over `texts` alone where they are given."""
    aims = list(parameters.aimed(siege))
    reading = (Kind.CONTENT, Kind.STATISTICS)
    every = {
        n: (_text(n, texts), e)
        for n, e in STATEMENTS.items()
        if e.kind in reading and n in (texts or STATEMENTS)
    }
    every |= {
        f"function {n}": (sql.SQL(e.call), e) for n, e in FUNCTIONS.items() if e.kind in reading and not texts
    }
    for name, (text, entry) in every.items():
        for attacker in _readers(siege):
            for given in _needed(text.as_string(None), aims):
                yield from _shown_alike(siege, name, text, attacker, {**given, **entry.changes(given)})


def _readers(siege: Siege) -> list[Attacker]:
    others = [*attackers.insiders(siege.world), attackers.foreigners(siege.world)[0], attackers.nobodies()[0]]
    return [attackers.reader(siege.world), *others]


def _shown_alike(siege: Siege, name: str, text: Any, attacker: Attacker, given: Mapping[str, Any]) -> Leaks:
    shown = []
    for role in ("veraz_app", "veraz_ops"):
        with siege.acting(attacker, role):  # type: ignore[arg-type]
            shown.append(siege.attempt(text, given))
    under_policies, by_itself = (sorted(map(repr, outcome.rows)) for outcome in shown)
    if under_policies == by_itself and shown[0].sqlstate == shown[1].sqlstate:
        return []
    more = [row for row in by_itself if row not in under_policies]
    return [f"{name}: {attacker.name} would see {more[:1] or shown[1].message} but for the policies"]


# --- credentials


def credentials(siege: Siege) -> Leaks:
    """authenticate() tells a caller what its own credential is, to the end of its life, and is not led astray by names."""
    found = []
    for label, change in (
        ("expired", "created_at = now() - interval '2 days', expires_at = now() - interval '1 second'"),
        ("revoked", "revoked_at = now()"),
        ("of a disabled tenant", None),
    ):
        with siege.connection.transaction(force_rollback=True):
            secret = _stored_key(siege)
            if change is None:
                siege.connection.execute("update veraz.tenant set disabled_at = now()")
            else:
                siege.connection.execute(sql.SQL("update veraz.api_key set {}").format(sql.SQL(change)))  # type: ignore[arg-type]
            found += [f"a key {label} is accepted"] if _authenticated(siege, secret, None) else []
    with siege.connection.transaction(force_rollback=True):
        secret = _stored_key(siege)
        if [row[0] for row in _authenticated(siege, secret, None)] != [siege.world.alpha]:
            found.append("a good key is not accepted")
        for guess in (b"", secret[:-1], secret + b"\0", bytes(32), b"\xff" * 32):
            found += [f"{guess!r} is accepted"] if _authenticated(siege, guess, "default") else []
        for name in (
            "",
            "%",
            "default'--",
            "default ",
            "d_fault",
            "beta,default",
            "null",
            "*",
            "default\ninto",
        ):
            found += [f"tenant {name!r} is accepted"] if _authenticated(siege, None, name) else []
    return found + _led_astray(siege)


def _stored_key(siege: Siege) -> bytes:
    digest = uuid4().bytes + uuid4().bytes
    siege.connection.execute(
        "insert into veraz.api_key (tenant_id, prefix, key_hash, roles) values (%s, 'probe', %s, '{public}')",
        [siege.world.alpha, digest],
    )
    return digest


def _authenticated(siege: Siege, digest: bytes | None, name: str | None) -> tuple[tuple[Any, ...], ...]:
    with siege.acting(attackers.nobodies()[0]):
        return siege.attempt("select * from veraz.authenticate(%s, %s)", [digest, name]).rows


ASTRAY: tuple[LiteralString, ...] = (
    "create function pg_temp.spy(seen pg_catalog.text) returns boolean language plpgsql as $$ begin"
    " raise notice 'runs as % and reads %', current_user, (select pg_catalog.count(*) from veraz.api_key); return true; end $$",
    "create domain pg_temp.text as pg_catalog.text check (pg_temp.spy(value))",
    "create temp table api_key as select ''::pg_catalog.text as key_hash",
    "create temp table tenant as select 'default'::pg_catalog.text as slug",
    "set local search_path = pg_temp, pg_catalog",
)


def _led_astray(siege: Siege) -> Leaks:
    """A caller's types and tables of the names that the function uses: with an unpinned path its code runs as the function's owner."""
    siege.notices.clear()
    with siege.acting(attackers.nobodies()[0]), siege.connection.transaction(force_rollback=True):
        for command in ASTRAY:
            siege.connection.execute(command)
        outcome = siege.attempt("select tenant_id from veraz.authenticate(null, 'default')")
    found = [
        f"authenticate() ran a caller's code, which {told}" for told in siege.notices if "veraz_auth" in told
    ]
    return found + ([] if outcome.rows == ((siege.world.alpha,),) else [f"authenticate() says {outcome}"])


# --- side channels of the server


def silence(siege: Siege) -> Leaks:
    """Nothing tells by itself: no trigger, rule, notification, publication or large object."""
    found = [f"{kind} {name}" for kind, name in siege.truth(TELLING)]
    for name in statement_files():
        if re.search(r"\b(pg_)?notify\b", statement(*name.split("/")).as_string(None), re.IGNORECASE):
            found.append(f"{name} notifies: every listener of the database would hear it")
    return found


TELLING: LiteralString = """
select 'trigger', tgname::text from pg_trigger t join pg_class c on c.oid = tgrelid where not tgisinternal and relnamespace = 'veraz'::regnamespace
union all
select 'rule', rulename from pg_rewrite r join pg_class c on c.oid = ev_class where relnamespace = 'veraz'::regnamespace and rulename <> '_RETURN'
union all
select 'function that notifies', proname from pg_proc where pronamespace = 'veraz'::regnamespace and prosrc ~* '\\m(pg_)?notify\\M'
union all
select 'publication', pubname from pg_publication
union all
select 'large object', oid::text from pg_largeobject_metadata
"""


def statistics(siege: Siege) -> Leaks:
    """The planner's statistics hold values of rows: the server keeps those of tables under policies from the runtime login."""
    found = []
    owned = [name for name, belongs in siege.tables.items() if belongs]
    for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
        query = sql.SQL(
            "select distinct tablename from {} where schemaname = 'veraz' and tablename = any (%s)"
        )
        for attacker in (
            attackers.nobodies()[0],
            *attackers.foreigners(siege.world),
            *attackers.insiders(siege.world),
        ):
            with siege.acting(attacker):
                shown = siege.attempt(query.format(sql.Identifier(view)), [owned])
            found += [f"{view} shows {attacker.name} values of {row[0]}" for row in shown.rows]
    kept = siege.truth(
        "select count(*) from pg_stats where schemaname = 'veraz' and tablename = any (%s)", [owned]
    )
    return found if kept[0][0] else ["no statistics were gathered"]


PER_TABLE: dict[str, Callable[[Siege, str], Leaks]] = {"rows": rows, "owner": owner, "writes": writes}
"""Of tables that belong to tenants; `rows` of the others too."""
WHOLE: dict[str, Callable[[Siege], Leaks]] = {
    check.__name__: check  # type: ignore[attr-defined, misc]
    for check in (
        registered,
        stocked,
        keys,
        references,
        conflicts,
        privileges,
        roles,
        definers,
        policies,
        views,
        functions,
        statements,
        alone,
        credentials,
        silence,
        statistics,
    )
}
