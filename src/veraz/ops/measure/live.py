"""Sampled searches, measured behind the back of those who asked: a bounded queue, one worker, a connection of its own.

A search is offered after its answer is complete, without waiting for anything. The worker asks the arms again and compares
them with an exact scan, both on one snapshot and as the identity that had asked. What finds the queue full is dropped and
counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import UUID

from veraz.errors import VerazError
from veraz.nouns.corpus import Identity
from veraz.ops.measure import store
from veraz.ops.measure.recall import Found, Ranked, compare

if TYPE_CHECKING:
    from veraz.db.session import Connection, Database

Asked = TypeVar("Asked")
CLOSING_SECONDS = 2.0
"""How long closing may take to note what was dropped."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One arm of one search. `exact` is None where the arm had read everything, so that there was nothing to compare; `space_id`
    is that of the vectors, None for the lexical arm."""

    ranked: Ranked
    exact: Ranked | None
    exact_ms: float
    space_id: int | None
    filtered: bool


Compare = Callable[["Connection", Asked], Awaitable[Mapping[str, Compared]]]
"""Asks the arms of a search again and exactly, inside a transaction that is given."""


class Sampler(Generic[Asked]):
    """`share` of what is offered is measured at `k`; at most `waiting` wait. `connect` opens the worker's own database, so that
    no request waits for a connection that a measurement holds; `database` is the requests', for the last note. `chance` gives
    numbers in 0..1."""

    def __init__(
        self,
        *,
        share: float,
        k: int,
        waiting: int,
        database: Database,
        connect: Callable[[], Awaitable[Database]],
        compare: Compare[Asked],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.share = share
        self._k = k
        self._database = database
        self._connect = connect
        self._compare = compare
        self._chance = chance
        self._queue: asyncio.Queue[tuple[Identity, Asked]] = asyncio.Queue(waiting)
        self._dropped: dict[UUID, tuple[Identity, int]] = {}
        self._worker: asyncio.Task[None] | None = None
        self._own: Database | None = None
        self._current: Identity | None = None
        self._closed = False

    @property
    def dropped(self) -> int:
        """Searches that were chosen, not measured, and not noted in the database yet."""
        return sum(count for _, count in self._dropped.values())

    def offer(self, identity: Identity, asked: Asked) -> None:
        """Perhaps measures a search of `identity`, later. Returns at once, whatever is under way, and never fails."""
        if self._closed or not self.share or self._chance() >= self.share:
            return
        try:
            self._queue.put_nowait((identity, asked))
        except asyncio.QueueFull:
            self._drop(identity)
            return
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="veraz live recall")

    async def settled(self) -> None:
        """Waits until everything that was offered is measured or dropped. Nobody who answers requests should."""
        await self._queue.join()

    async def close(self) -> None:
        """Abandons what is under way and what waits, and counts it as dropped. Nothing runs on afterwards. Safe to repeat."""
        self._closed = True
        if self._worker is not None:
            self._worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker
            self._worker = None
        while not self._queue.empty():
            self._drop(self._queue.get_nowait()[0])
            self._queue.task_done()
        if self._dropped:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._note_all(), CLOSING_SECONDS)
        if self._own is not None:
            await self._own.close()
            self._own = None

    async def _work(self) -> None:
        while True:
            identity, asked = await self._queue.get()
            try:
                await self._measure(identity, asked)
            except asyncio.CancelledError:
                self._drop(identity)
                raise
            except (
                Exception
            ):  # the answer was given: whatever goes wrong here is nobody's error, and is counted
                self._drop(identity)
            finally:
                self._queue.task_done()

    async def _measure(self, identity: Identity, asked: Asked) -> None:
        if self._own is None:
            self._own = await self._connect()
        async with self._own.transaction(identity) as connection:
            for arm, compared in (await self._compare(connection, asked)).items():
                await self._keep(connection, arm, compared)
            dropped = self._dropped.get(identity.tenant_id, (identity, 0))[1]
            await self._note(connection, dropped)
        self._take(identity, dropped)

    async def _keep(self, connection: Connection, arm: str, compared: Compared) -> None:
        exact = compared.ranked if compared.exact is None else compared.exact
        found = compare(compared.ranked, exact, self._k)
        if found.expected:
            await store.insert_sample(
                connection,
                k=self._k,
                found=found,
                arm=arm,
                space_id=compared.space_id,
                approximated=compared.exact is not None,
                filtered=compared.filtered,
                exact_ms=compared.exact_ms,
            )

    # --- what was dropped

    def _drop(self, identity: Identity) -> None:
        self._dropped[identity.tenant_id] = (
            identity,
            self._dropped.get(identity.tenant_id, (identity, 0))[1] + 1,
        )

    def _take(self, identity: Identity, noted: int) -> None:
        """What the database knows of now, and what came meanwhile stays."""
        left = self._dropped.get(identity.tenant_id, (identity, 0))[1] - noted
        if left > 0:
            self._dropped[identity.tenant_id] = identity, left
        else:
            self._dropped.pop(identity.tenant_id, None)

    async def _note(self, connection: Connection, dropped: int) -> None:
        if dropped:
            await store.insert_sample(
                connection, k=self._k, found=Found(0, 0), arm=None, space_id=None, dropped=dropped
            )

    async def _note_all(self) -> None:
        for identity, dropped in list(self._dropped.values()):
            with contextlib.suppress(VerazError):  # a tenant may be disabled by now, or the server gone
                async with self._database.transaction(identity) as connection:
                    await self._note(connection, dropped)
                self._take(identity, dropped)
