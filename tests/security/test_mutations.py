"""With any one safeguard taken away the checks of tests/support/attack find something: each of those that are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from psycopg import sql
from tests.support.attack import checks, keys, mutations, registration, running
from tests.support.attack.mutations import Mutation
from tests.support.attack.outcome import Leaks
from tests.support.attack.siege import Siege

FIXED = [*mutations.of_tables(), *mutations.of_functions(), *mutations.of_objects()]


LAZY: dict[str, Callable[[Siege], Iterator[str]]] = {
    "alone": running.shown_alone,
    "references": keys.each_reference,
    "conflicts": keys.each_conflict,
}
"""The first leak is enough."""


def reports(siege: Siege, mutation: Mutation) -> dict[str, Leaks]:
    """What each named check finds once the safeguard is gone; of a check that stops with an error, the error."""
    mutation.apply(siege)
    return {name: _run(siege, name, mutation.table) for name in mutation.checks}


def _run(siege: Siege, name: str, table: str | None) -> Leaks:
    if name in LAZY:
        return list(islice(LAZY[name](siege), 1))
    whole: dict[str, Callable[[Siege], Leaks]] = checks.WHOLE
    return whole[name](siege) if name in whole else checks.PER_TABLE[name](siege, str(table))


@pytest.mark.parametrize("mutation", FIXED, ids=str)
def test_a_missing_safeguard_is_reported(siege: Siege, mutation: Mutation) -> None:
    assert [name for name, leaks in reports(siege, mutation).items() if not leaks] == []


def test_a_key_without_the_tenant_is_reported(siege: Siege) -> None:
    known = list(mutations.of_keys(siege))
    assert len(known) >= 30
    silent = []
    for mutation in known:
        with siege.connection.transaction(force_rollback=True):
            silent += [(mutation.name, name) for name, leaks in reports(siege, mutation).items() if not leaks]
    assert silent == []


def test_a_new_statement_is_reported(siege: Siege) -> None:
    assert registration.registered(siege, [*registration.statement_files(), "search/latest"])
    assert registration.registered(siege, registration.statement_files()[1:])


@pytest.mark.parametrize(
    ("name", "missing", "text"), [pytest.param(*m, id=f"{m[0]}-{m[1]}") for m in mutations.of_statements()]
)
def test_a_statement_without_a_predicate_is_reported(
    siege: Siege, name: str, missing: str, text: sql.Composable
) -> None:
    assert any(running.shown_alone(siege, {name: text})), missing
