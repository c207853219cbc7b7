"""One of the processes of the proof: many tenants read through one pool of connections, and some of them are interrupted.

    echo '{"url": …, "requests": 1000, "seed": 1, "leak": false}' | python tests/proof/pooled_client.py

Prints what it saw as JSON. Every request compares what it got with what its tenant owns, row by row.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import stat
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import msgspec
import numpy as np
from psycopg.conninfo import conninfo_to_dict
from tests.support import databases
from tests.support.corpus import record
from tests.support.hashing import DIMENSION, HashingEmbedder, hashed

from veraz.config import DatabaseConfig
from veraz.engine import AsyncVeraz
from veraz.errors import DatabaseError
from veraz.identity.store import find_tenant
from veraz.nouns.corpus import Identity, Vectors
from veraz.nouns.evidence import SearchResult
from veraz.search.pipeline import run_search
from veraz.search.request import SearchRequest

TENANTS, DOCUMENTS = 50, 6
WORKERS = 8
"""Of one process, and its connections."""
CANCELLED, CUT = 0.03, 0.004
"""The share of requests that are cancelled at a random moment, or that close a socket of the process."""
Row = tuple[str, str, str]


def slug(tenant: int) -> str:
    return f"tenant{tenant:02}"


def place(text: str) -> Vectors:
    """Everybody's vectors lie around one point, and every question at it: the nearest rows are mostly foreign ones."""
    axis = np.zeros(DIMENSION, np.float32)
    axis[0] = 1
    near = axis if text.startswith("query") else axis + 0.3 * hashed("near", text)
    unit: Vectors = (near / np.linalg.norm(near)).astype(np.float32)
    return unit


def records(tenant: int) -> list[dict[str, Any]]:
    """The same ids and words for every tenant, and its marker in source, title and text. The last document is for `hr` alone."""
    name = slug(tenant)
    made = [
        record(f"d{n}", f"The pump number{n} of {name} closes the valve.", title=name)
        for n in range(DOCUMENTS)
    ]
    return [*made, record("hr", f"The pump number9 of {name} is secret.", title=name, acl=["hr"])]


def owned(tenant: int, *, writing: bool = False) -> set[Row]:
    ids = [*(f"d{n}" for n in range(DOCUMENTS)), *(["hr"] if writing else [])]
    return {(slug(tenant), slug(tenant), external_id) for external_id in ids}


@dataclass(slots=True)
class Seen:
    kinds: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    cancelled: int = 0
    refused: int = 0
    cut: int = 0
    open_files: int = 0
    rows: int = 0
    foreign: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


class Client:
    def __init__(
        self, engine: AsyncVeraz, identities: list[Identity], space_id: int, chance: random.Random
    ) -> None:
        self.engine = engine
        self.identities = identities
        self.space_id = space_id
        self.chance = chance
        self.seen = Seen()
        self.kinds: dict[str, Callable[[int], Awaitable[None]]] = {
            "lexical": self.lexical,
            "semantic": self.semantic,
            "words": self.words,
            "index": self.index,
            "hybrid": self.hybrid,
            "show": self.show,
            "write": self.write,
            "nobody": self.nobody,
            "bare": self.bare,
        }

    async def lexical(self, tenant: int) -> None:
        await self._search(tenant, "lexical")

    async def semantic(self, tenant: int) -> None:
        await self._search(tenant, "semantic")

    async def hybrid(self, tenant: int) -> None:
        await self._search(tenant, "hybrid")

    async def _search(self, tenant: int, mode: Any) -> None:
        acting = self.engine.acting_as(self.identities[tenant])
        self._check_hits(tenant, mode, await acting.search("query pump", mode=mode, lang="en", trace=False))

    async def words(self, tenant: int) -> None:
        """The lexical arm and what its hits show, without what `search` reads before and after."""
        await self._run(tenant, "lexical")

    async def index(self, tenant: int) -> None:
        """Through the index that all tenants share, where `search` would compare so few rows one by one."""
        await self._run(tenant, "semantic")

    async def _run(self, tenant: int, mode: Any) -> None:
        engine = self.engine
        found = await run_search(
            engine._database,
            self.identities[tenant],
            engine._models.embedder,
            self.space_id,
            engine.config.search,
            SearchRequest("query pump", "en", "en", mode=mode),
        )
        self._check_hits(tenant, mode, found.result)

    async def show(self, tenant: int) -> None:
        number = self.chance.randrange(DOCUMENTS)
        shown = await self.engine.acting_as(self.identities[tenant]).show(f"d{number}")
        self._check(
            tenant,
            "show",
            {(shown.source, shown.revisions[0].title, shown.external_id)},
            {owned_row(tenant, number)},
        )
        bodies = " ".join(c.display for c in shown.chunks)
        if f"number{number} of {slug(tenant)}" not in bodies:
            self.seen.foreign.append(f"show {tenant}: {bodies}")

    async def write(self, tenant: int) -> None:
        """Sees every label of its tenant: what the next reader on the session must not."""
        async with self.engine._database.transaction(self.identities[tenant], "write") as connection:
            rows = await (await connection.execute(OWN_ROWS)).fetchall()
        self._check(tenant, "write", {(s, t, e) for s, t, e in rows}, owned(tenant, writing=True))

    async def nobody(self, _: int) -> None:
        async with self.engine._database.authentication() as connection:
            self._check_none("nobody", await (await connection.execute(ALL_COUNTS)).fetchone())

    async def bare(self, _: int) -> None:
        """A session of the runtime login as it lies in the pool, without any word about who acts."""
        async with self.engine._database.administration() as connection:
            self._check_none("bare", await (await connection.execute(ALL_COUNTS)).fetchone())

    def _check_hits(self, tenant: int, kind: str, result: SearchResult) -> None:
        found = {(h.document.source, h.document.title, h.document.external_id) for h in result.hits}
        self._check(tenant, kind, found, owned(tenant))
        strange = [h.body for h in result.hits if slug(tenant) not in h.body]
        self.seen.foreign.extend(f"{kind} {tenant}: {body}" for body in strange)

    def _check(self, tenant: int, kind: str, found: set[Row], wanted: set[Row]) -> None:
        self.seen.rows += len(found)
        if found - wanted:
            self.seen.foreign.append(f"{kind} {tenant}: {sorted(found - wanted)}")
        if wanted - found:
            self.seen.missing.append(f"{kind} {tenant}: {sorted(wanted - found)}")

    def _check_none(self, kind: str, counts: Any) -> None:
        if counts is None or any(counts):
            self.seen.foreign.append(f"{kind}: {counts}")

    async def worker(self, numbers: Any) -> None:
        names, weights = zip(*WEIGHTS.items(), strict=True)
        for _ in numbers:
            kind = self.chance.choices(names, weights)[0]
            self.seen.kinds[kind] += 1
            await self.request(self.kinds[kind](self.chance.randrange(TENANTS)))  # type: ignore[arg-type]

    async def request(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        cancel = self.chance.random() < CANCELLED
        if self.chance.random() < CUT:
            self.seen.cut += cut_a_socket(self.port, self.chance)
        if cancel:
            await asyncio.sleep(self.chance.uniform(0, 0.03))
            task.cancel()
        try:
            await task
            self.seen.answered += 1
        except asyncio.CancelledError:
            self.seen.cancelled += 1
        except DatabaseError:
            self.seen.refused += 1
        except Exception as error:  # whatever else a caller would see is a finding
            self.seen.unexpected.append(f"{type(error).__name__}: {error}"[:300])

    @property
    def port(self) -> int:
        return int(str(conninfo_to_dict(self.engine._database.url)["port"]))


WEIGHTS = {
    "lexical": 6,
    "semantic": 4,
    "hybrid": 2,
    "words": 24,
    "index": 14,
    "show": 24,
    "write": 8,
    "nobody": 9,
    "bare": 9,
}
OWN_ROWS = """
select s.slug, r.title, d.external_id
  from veraz.document d
  join veraz.source s on s.tenant_id = d.tenant_id and s.source_id = d.source_id
  join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
"""
ALL_COUNTS = """
select (select count(*) from veraz.document), (select count(*) from veraz.chunk), (select count(*) from veraz.revision),
       (select count(*) from veraz.embedding_1), (select count(*) from veraz.chunk_lexical), (select count(*) from veraz.posting),
       (select count(*) from veraz.source), (select count(*) from veraz.trace)
"""


def owned_row(tenant: int, number: int) -> Row:
    return slug(tenant), slug(tenant), f"d{number}"


def cut_a_socket(port: int, chance: random.Random) -> bool:
    """Shuts one of this process's connections to `port`, in use or not."""
    lines = []
    for entry in Path("/proc/self/fd").iterdir():
        number = int(entry.name)
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
        except OSError:  # the descriptor of this listing
            continue
        line = socket.socket(fileno=os.dup(number))
        if line.family == socket.AF_INET and _peer_port(line) == port:
            lines.append(line)
        else:
            line.close()
    with suppress(OSError):  # the other side was faster
        if lines:
            chance.choice(lines).shutdown(socket.SHUT_RDWR)
    for line in lines:
        line.close()
    return bool(lines)


def _peer_port(line: socket.socket) -> int | None:
    try:
        return int(line.getpeername()[1])
    except OSError:  # shut already
        return None


async def leak(engine: AsyncVeraz, identity: Identity) -> None:
    """The mistake that all this is against: a tenant set for the session."""
    while True:
        async with engine._database.administration() as connection:
            await connection.execute(
                "select set_config('veraz.tenant_id', %s, false), set_config('veraz.roles', '{public}', false)",
                [str(identity.tenant_id)],
            )
        await asyncio.sleep(0.05)


async def main(url: str, requests: int, seed: int, leaking: bool) -> dict[str, Any]:
    chance = random.Random(seed)
    config = msgspec.structs.replace(
        databases.config(url), database=DatabaseConfig(url=url, pool_size=WORKERS)
    )
    async with await AsyncVeraz.open(config=config, embedder=HashingEmbedder(place=place)) as engine:
        space = await engine.space()
        async with engine._database.authentication() as connection:
            known = [await find_tenant(connection, slug(n)) for n in range(TENANTS)]
            ids = [found[0] for found in known if found]
        identities = [Identity(i, slug(n), ("public",)) for n, i in enumerate(ids) if i is not None]
        client = Client(engine, identities, space.space_id, chance)
        leaked = asyncio.create_task(leak(engine, identities[0])) if leaking else None
        numbers = iter(range(requests))
        await asyncio.gather(*(client.worker(numbers) for _ in range(WORKERS)))
        if leaked:
            leaked.cancel()
    client.seen.open_files = len(list(Path("/proc/self/fd").iterdir()))
    seen: dict[str, Any] = msgspec.to_builtins(client.seen)
    return seen


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    found = asyncio.run(main(asked["url"], asked["requests"], asked["seed"], asked["leak"]))
    for name in ("foreign", "missing", "unexpected"):
        found[name] = {"count": len(found[name]), "first": found[name][:5]}
    print(json.dumps(found))
