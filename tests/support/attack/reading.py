"""Reading tables, in every way there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

from psycopg import sql

from tests.support.attack import attackers
from tests.support.attack.attackers import Attacker
from tests.support.attack.outcome import Leaks
from tests.support.attack.registry import (
    TABLES,
    Shows,
)
from tests.support.attack.siege import Outcome, Row, Siege
from tests.support.corpus import table


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
    if shows is Shows.WRITERS:
        return mine and attacker.writes
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
