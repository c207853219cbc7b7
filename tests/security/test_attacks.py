"""Every check of tests/support/attack on the database as it is installed: nothing leaks."""

from __future__ import annotations

import pytest
from tests.support.attack import checks
from tests.support.attack.registry import TABLES, Shows
from tests.support.attack.siege import Siege


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("check", checks.PER_TABLE)
def test_a_table_leaks_nothing(siege: Siege, check: str, table: str) -> None:
    if check != "rows" and TABLES[table] is Shows.EVERYTHING:
        assert not siege.tables[table], "it belongs to no tenant"
        return
    assert checks.PER_TABLE[check](siege, table) == []


@pytest.mark.parametrize("check", checks.WHOLE)
def test_nothing_leaks(siege: Siege, check: str) -> None:
    assert checks.WHOLE[check](siege) == []
