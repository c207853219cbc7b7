"""Fifty tenants over PgBouncer in transaction mode, with fewer sessions than clients, while requests are cancelled, sessions
killed and sockets closed: no request sees a row of another tenant, and nobody's request sees any.

Half an hour; part of `make proof`. PROOF_REQUESTS says how many requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.db.server_fixture import FAST
from tests.proof.pooled_client import CANCELLED, TENANTS, place, records, slug
from tests.support import databases, pgbouncer
from tests.support.corpus import put
from tests.support.hashing import HashingEmbedder
from tests.support.pgbouncer import PgBouncer

from veraz.db.embedded import EmbeddedServer

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("PROOF_REQUESTS", "200000"))
PROCESSES, SESSIONS = 3, 6
"""Clients with eight connections each, before so many sessions of the server."""
CLIENT = Path(__file__).with_name("pooled_client.py")


@pytest.fixture(scope="module")
def own_server() -> Iterator[str]:
    """The administrator's URL of a server whose runtime login nobody else renews."""
    folder = Path(tempfile.mkdtemp(prefix="veraz-proof-"))
    folder.chmod(0o711)
    server = EmbeddedServer(folder, settings=FAST)
    try:
        yield server.ensure_running()
    finally:
        server.destroy()
        shutil.rmtree(folder)


@pytest.fixture
def small_bouncer(own_server: str) -> Iterator[PgBouncer]:
    with pgbouncer.running(own_server, "transaction", pool_size=SESSIONS) as started:
        yield started


@pytest.fixture
def tenants_url(own_server: str) -> Iterator[str]:
    async def fill(url: str) -> None:
        async with await databases.open_engine(url, HashingEmbedder(place=place)) as engine:
            for tenant in range(TENANTS):
                identity = await engine.ensure_tenant(slug(tenant))
                await put(engine, *records(tenant), source=slug(tenant), identity=identity)

    with databases.fresh(own_server, databases.schema_template(own_server)) as url:
        asyncio.run(fill(url))
        yield url


class Fire(threading.Thread):
    """Ends or cancels a session of the runtime login, again and again."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url, self.stop, self.killed, self.cancelled = url, threading.Event(), 0, 0

    def __enter__(self) -> Fire:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.join()

    def run(self) -> None:
        chance = random.Random(7)
        with psycopg.connect(self.url, autocommit=True) as admin:
            while not self.stop.wait(chance.uniform(0.02, 0.3)):
                kill = chance.random() < 0.5
                done = admin.execute(VICTIM, [kill]).fetchone() == (True,)
                self.killed += done and kill
                self.cancelled += done and not kill


VICTIM = """
select case when %s then pg_terminate_backend(pid) else pg_cancel_backend(pid) end from pg_stat_activity
 where datname = current_database() and usename = 'veraz_app' order by state = 'active' desc, random() limit 1
"""
"""A session at work, where there is one."""


def run_clients(url: str, requests: int, *, leak: bool = False, processes: int = PROCESSES) -> dict[str, Any]:
    """What all processes saw together."""
    shares = [len(range(number, requests, processes)) for number in range(processes)]
    asked = [{"url": url, "requests": share, "seed": seed, "leak": leak} for seed, share in enumerate(shares)]
    with ThreadPoolExecutor(processes) as pool:
        answers = list(pool.map(run_client, asked))
    seen: dict[str, Any] = {}
    for answer in answers:
        seen = merged(seen, answer)
    return seen


def run_client(asked: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(CLIENT)], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Figures added up, lists joined, key by key."""
    both = {**other, **one}
    for key in one.keys() & other.keys():
        nested = isinstance(one[key], dict)
        both[key] = merged(one[key], other[key]) if nested else one[key] + other[key]
    return both


def test_no_request_ever_sees_a_foreign_row(small_bouncer: PgBouncer, tenants_url: str, capsys: Any) -> None:
    started = time.monotonic()
    with Fire(tenants_url) as fire:
        seen = run_clients(small_bouncer.runtime(tenants_url), REQUESTS)
    seconds = time.monotonic() - started
    with capsys.disabled():
        print(
            f"\n{REQUESTS:,} requests in {seconds:,.0f} s,"
            f" {fire.killed:,} sessions killed, {fire.cancelled:,} cancelled: {seen}"
        )
    asked = sum(seen["kinds"].values())
    assert asked == REQUESTS
    assert seen["answered"] + seen["cancelled"] + seen["refused"] + seen["unexpected"]["count"] == asked
    assert seen["foreign"]["count"] == 0, seen["foreign"]["first"]
    assert seen["missing"]["count"] == 0, seen["missing"]["first"]
    assert seen["unexpected"]["count"] == 0, seen["unexpected"]["first"]
    assert seen["answered"] > 0.8 * asked
    assert seen["cancelled"] > 0.2 * CANCELLED * asked
    assert seen["rows"] > 2 * seen["answered"]
    assert min(fire.killed, fire.cancelled) > 1 + seconds
    assert seen["cut"] > 0.001 * asked
    assert seen["open_files"] < 40 * PROCESSES, "no connection was left behind"


def test_the_proof_sees_a_tenant_that_was_set_for_the_session(
    small_bouncer: PgBouncer, tenants_url: str
) -> None:
    seen = run_clients(small_bouncer.runtime(tenants_url), 600, leak=True, processes=1)
    assert seen["foreign"]["count"] > 0
    assert any(entry.startswith("bare") for entry in seen["foreign"]["first"])
