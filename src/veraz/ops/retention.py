"""Letting go what a tenant's policy no longer keeps: in batches, each a short transaction of its own, so that nobody waits and
a killed run has kept what it committed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar
from uuid import UUID

from veraz.db.session import Connection, Database
from veraz.db.statements import statement
from veraz.errors import UsageError
from veraz.nouns.corpus import Identity
from veraz.nouns.lifecycle import Expired, Purged, Retention

Progress = Callable[[int, int], None]
"""Called with what is done and what there was to do."""
Result = TypeVar("Result")
_LONGEST = 100_000
"""Days: older than any database; a longer interval would overflow a timestamp."""


def check_policy(policy: Retention) -> None:
    """Raises UsageError for a limit that no calendar holds."""
    for name, value in asdict(policy).items():
        if value is not None and (type(value) is not int or not 0 <= value <= _LONGEST):
            raise UsageError(f"{name} is {value!r}", fix=f"give a number from 0 to {_LONGEST:,}, or for-ever")


async def policy_of(connection: Connection) -> Retention:
    row = await (await connection.execute(statement("ops", "retention_policy"))).fetchone()
    assert row is not None
    return Retention(*row)


async def set_policy(connection: Connection, policy: Retention) -> None:
    await connection.execute(statement("ops", "set_retention"), asdict(policy))


async def expired(connection: Connection, policy: Retention) -> Expired:
    row = await (await connection.execute(statement("ops", "count_expired"), asdict(policy))).fetchone()
    assert row is not None
    return Expired(*row)


class Run:
    """One run of a policy. Build it, call `run` once."""

    def __init__(
        self, database: Database, identity: Identity, policy: Retention, batch: int, progress: Progress | None
    ) -> None:
        if batch < 1:
            raise UsageError(f"batch is {batch}", fix="give a number from 1: --batch 200")
        self._database = database
        self._identity = identity
        self._policy = asdict(policy)
        self._batch = batch
        self._progress = progress or (lambda _done, _total: None)
        self._counts: Counter[str] = Counter()
        self._total = 0

    async def run(self, *, dry_run: bool) -> Purged:
        started = time.perf_counter()
        found = await self._in_transaction(self._count)
        self._total = found.total
        if dry_run:
            self._counts.update(asdict(found))
        else:
            await self._purge_history()
            await self._purge_documents()
            await self._purge_rows("purge_traces", "traces")
            await self._purge_rows("purge_runs", "runs")
            await self._purge_rows("purge_samples", "recall_samples")
        names = (
            "revisions",
            "chunks",
            "documents",
            "tombstones",
            "traces",
            "runs",
            "recall_samples",
            "skipped",
        )
        counted = {name: self._counts[name] for name in names}
        return Purged(**counted, seconds=round(time.perf_counter() - started, 3), dry_run=dry_run)

    async def _count(self, connection: Connection) -> Expired:
        return await expired(connection, Retention(**self._policy))

    async def _purge_history(self) -> None:
        reached, passed = UUID(int=0), list[UUID]()
        while True:
            step = {"from_document": reached, "passed": passed, "batch": self._batch}
            last, busy, revisions, chunks = await self._one_row("purge_history", {**self._policy, **step})
            if last is None:
                return
            reached, passed = last, passed + busy
            self._add(revisions, revisions=revisions, chunks=chunks, skipped=len(busy))

    async def _purge_documents(self) -> None:
        passed: list[UUID] = []
        while True:
            step = {**self._policy, "passed": passed, "batch": self._batch}
            waiting = await self._rows("expired_documents", step)
            if not waiting:
                return
            for document_id in (row[0] for row in waiting):
                one = {**self._policy, "document_id": document_id}
                revisions, chunks, tombstone = await self._one_row("purge_document", one)
                if tombstone is None:
                    passed.append(document_id)
                    self._add(0, skipped=1)
                else:
                    self._add(1, revisions=revisions, chunks=chunks, documents=1, tombstones=int(tombstone))

    async def _purge_rows(self, statement_: str, kind: str) -> None:
        step = {**self._policy, "batch": self._batch}
        while gone := len(await self._rows(statement_, step)):
            self._add(gone, **{kind: gone})

    def _add(self, done: int, **counted: int) -> None:
        self._counts.update(counted)
        self._counts["done"] += done
        self._progress(self._counts["done"], max(self._total, self._counts["done"]))

    async def _one_row(self, name: str, parameters: dict[str, Any]) -> tuple[Any, ...]:
        return (await self._rows(name, parameters))[0]

    async def _rows(self, name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(statement("ops", name), parameters)).fetchall()

        return await self._in_transaction(work)

    async def _in_transaction(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        async def once() -> Result:
            async with self._database.maintenance(self._identity.tenant_id) as connection:
                return await work(connection)

        return await self._database.again(once)
