"""Nothing is forgotten: every object has an expectation, and every table something to steal."""

from __future__ import annotations

from typing import LiteralString

from psycopg import sql

from tests.support.attack.outcome import Leaks
from tests.support.attack.registry import (
    FUNCTIONS,
    SEQUENCES,
    STATEMENTS,
    TABLES,
    VIEWS,
)
from tests.support.attack.siege import Siege
from tests.support.statement_files import statement_files


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


def stocked(siege: Siege) -> Leaks:
    """Every table of tenants holds rows of both: else the other checks could not fail."""
    both = {str(siege.world.alpha), str(siege.world.beta)}
    return [
        f"{name} holds rows of {len(owners)} of the two tenants: add some in tests/support/tenants.py"
        for name, owned in siege.tables.items()
        if owned and (owners := {row.values["tenant_id"] for row in siege.dump(name)}) != both
    ]
