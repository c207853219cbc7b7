"""The checks by name. Each takes a siege, some a table as well, and lists what leaked: nothing where the database holds."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.attack.channels import silence, statistics
from tests.support.attack.credentials import credentials
from tests.support.attack.keys import conflicts, keys, references
from tests.support.attack.outcome import Leaks
from tests.support.attack.reading import owner, rows
from tests.support.attack.registration import registered, stocked
from tests.support.attack.rights import definers, policies, privileges, roles
from tests.support.attack.running import alone, functions, statements, views
from tests.support.attack.siege import Siege
from tests.support.attack.writing import writes

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
