"""Many tenants in one database, of sizes that a benchmark or a proof chooses, and the times of those who ask, taken in turn."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from tests.support import bulk, databases
from tests.support.hashing import DIMENSION, HashingEmbedder, hashed
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity, Vectors
from veraz.nouns.evidence import Mode
from veraz.search.pipeline import run_search
from veraz.search.request import SearchRequest

WORDS, VOCABULARY = 20, 2000
DOCUMENT = 10
"""Chunks of a document."""
CLOSE = {"axis": 1.0, "spread": 0.05}
"""Around the first axis, where `near_axis` asks."""


@dataclass(frozen=True, slots=True)
class Tenant:
    slug: str
    chunks: int
    close: bool = False


def near_axis(text: str) -> Vectors:
    axis = np.zeros(DIMENSION, np.float32)
    axis[0] = 1
    mixed = axis + 0.2 * hashed("question", text)
    unit: Vectors = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    return unit


async def fill(url: str, tenants: list[Tenant]) -> None:
    """All of them, then the index, then the planner's statistics."""
    async with await open_engine(url) as engine:
        space = (await engine.space()).space_id
        await bulk.without_index(engine, space)
        for n, tenant in enumerate(tenants):
            identity = await engine.ensure_tenant(tenant.slug)
            around = CLOSE if tenant.close else {}
            async with engine._database.maintenance(identity.tenant_id) as connection:
                await bulk.fill_tenant(
                    connection,
                    identity.tenant_id,
                    space_id=space,
                    documents=max(1, tenant.chunks // DOCUMENT),
                    chunks=min(DOCUMENT, tenant.chunks),
                    words=WORDS,
                    vocabulary=VOCABULARY,
                    **around,
                )
            if n == len(tenants) // 20:  # without statistics the next fills would read whole tables
                async with engine._database.administration() as connection:
                    await connection.execute("analyze")
        await bulk.with_index(engine, space)


async def open_engine(url: str) -> AsyncVeraz:
    return await databases.open_engine(url, HashingEmbedder(place=near_axis))


class Questions:
    """Four words of the made-up vocabulary; every question is another one."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)

    def next(self) -> str:
        return " ".join(f"w{int(self._chance.random() ** 3 * VOCABULARY)}" for _ in range(4))


async def found(
    engine: AsyncVeraz, identity: Identity, question: str, k: int, mode: Mode, *, exact: bool = False
) -> list[UUID]:
    """The chunks that a search finds, best first."""
    acting = engine.acting_as(identity)
    result = await acting.search(question, k=k, mode=mode, lang="en", exact=exact, trace=False)
    assert {h.document.source for h in result.hits} <= {"bulk"}
    return [h.chunk_id for h in result.hits]


async def found_by_index(engine: AsyncVeraz, identity: Identity, question: str, k: int) -> list[UUID]:
    """What search finds when it walks the shared index whatever the tenant's size."""
    space, embedder = await engine.space(), await engine._open_embedder()
    request = SearchRequest(question, "en", "en", mode="semantic", k=k)
    run = await run_search(
        engine._database, identity, embedder, space.space_id, engine.config.search, request
    )
    return [h.chunk_id for h in run.result.hits]


Ask = Callable[[], Awaitable[Any]]


async def in_turn(askers: Mapping[str, Ask], rounds: int, *, warm: int = 5) -> dict[str, list[float]]:
    """Milliseconds of each, one after another in changing order, so that what else the machine does slows all alike."""
    chance, times = random.Random(4), {name: list[float]() for name in askers}
    for number in range(warm + rounds):
        for name in chance.sample(list(askers), len(askers)):
            started = time.perf_counter()
            await askers[name]()
            if number >= warm:
                times[name].append((time.perf_counter() - started) * 1000)
    return times


def p50(times: list[float]) -> float:
    return statistics.median(times)
