"""PgBouncer in both modes, before the test server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support import pgbouncer
from tests.support.pgbouncer import PgBouncer


@pytest.fixture(scope="session", params=["transaction", "session"])
def bouncer(server: str, request: pytest.FixtureRequest) -> Iterator[PgBouncer]:
    with pgbouncer.running(server, request.param) as started:
        yield started


@pytest.fixture(scope="session")
def transaction_bouncer(server: str) -> Iterator[PgBouncer]:
    with pgbouncer.running(server, "transaction") as started:
        yield started
