"""Ten thousand operations from four connections on sixty documents of two tenants. Minutes; part of `make proof`."""

from __future__ import annotations

import pytest
from tests.lifecycle.test_lives_at_once import live_and_count

pytestmark = pytest.mark.slow


async def test_ten_thousand_operations(database: str) -> None:
    await live_and_count(database, 10_000, seed=1, checkpoints=20)
