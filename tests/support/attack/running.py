"""Views, functions and statements, run with the ids of what is hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, LiteralString

from psycopg import sql

from tests.support.attack import attackers, parameters
from tests.support.attack.attackers import Attacker
from tests.support.attack.outcome import REFUSED, Leaks
from tests.support.attack.registry import (
    FUNCTIONS,
    STATEMENTS,
    Entry,
    Kind,
)
from tests.support.attack.siege import Siege
from tests.support.corpus import table
from tests.support.statement_files import filled, statement_of

Texts = Mapping[str, sql.Composable]
"""Statements in place of the files of these names."""


def views(siege: Siege) -> Leaks:
    """A view shows what its reader may see of the tables below it."""
    found = []
    for name, options in siege.truth(
        "select relname, coalesce(reloptions, '{}') from pg_class"
        " where relnamespace = 'veraz'::regnamespace and relkind in ('v', 'm')"
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
        if entry.kind not in (Kind.SETTING, Kind.SCRATCH, Kind.CREDENTIALS, Kind.ABSENT):
            found += _tried(siege, name, _text(name, texts), entry, aims)
    return found


def _text(name: str, texts: Texts | None) -> sql.Composable:
    if texts and name in texts:
        return texts[name]
    return filled(statement_of(name))


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
    """Who acts for nobody is refused whatever the aim; a change is looked for in whole tables, which takes long."""
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
    """The predicates of the statements themselves: run by a role that policies let see everything, they show no more than to the
    runtime role."""
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


EXACTLY: LiteralString = "select set_config('enable_indexscan', 'off', true)"
"""Two approximate scans of the same rows may stop at different ones, and an index may not reach all: so none is used."""


def _shown_alike(siege: Siege, name: str, text: Any, attacker: Attacker, given: Mapping[str, Any]) -> Leaks:
    shown = []
    for role in ("veraz_app", "veraz_ops"):
        with siege.acting(attacker, role):  # type: ignore[arg-type]
            siege.connection.execute(EXACTLY)  # an attempt would be undone at once
            shown.append(siege.attempt(text, given))
    under_policies, by_itself = (sorted(map(repr, outcome.rows)) for outcome in shown)
    if under_policies == by_itself and shown[0].sqlstate == shown[1].sqlstate:
        return []
    more = [row for row in by_itself if row not in under_policies]
    return [f"{name}: {attacker.name} would see {more[:1] or shown[1].message} but for the policies"]
