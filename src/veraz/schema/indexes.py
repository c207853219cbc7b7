"""Another index for a space: built beside the one that searches walk, and put into its place in one short transaction.

A build is one transaction, so that what fails leaves no invalid index behind. Writers wait while it runs, readers do not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import psycopg
from psycopg import AsyncConnection, sql

from veraz.db.statements import COMPARISONS, embedding_table, statement
from veraz.errors import DatabaseError, UsageError
from veraz.nouns.corpus import IndexKind
from veraz.nouns.distance import Distance
from veraz.schema.apply import act_as_owner, extension_schema_of

EXCHANGES = 120
"""Times that the exchange is tried before searches have kept it from happening."""
PATIENCE_MS = 500
"""Milliseconds that one try waits, and that searches may have to wait behind it."""


@dataclass(frozen=True, slots=True)
class WantedIndex:
    """`built` are the index's own options, `options` all that is recorded with the space; `memory` bytes that the build needs."""

    space_id: int
    dimension: int
    distance: Distance
    kind: IndexKind
    built: Mapping[str, int]
    options: Mapping[str, int]
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Exchanged:
    size_bytes: int
    seconds: float
    built_at: datetime
    notes: tuple[str, ...] = ()


def index_name(space_id: int, kind: str) -> str:
    return f"embedding_{int(space_id)}_{kind}"


async def exchange(connection: AsyncConnection[Any], wanted: WantedIndex) -> Exchanged:
    """Builds the index that is wanted and lets it replace the one that the space has. `connection`: the administrator's, in
    autocommit. Raises UsageError while another build runs, and for a login that may not; DatabaseError where the server's memory
    does not suffice, or searches never leave a moment for the exchange. Whatever it raises, the index that was there is there."""
    started = time.perf_counter()
    try:
        notes = await _build(connection, wanted)
        built_at, size = await _put_in_place(connection, wanted)
    except psycopg.errors.InsufficientPrivilege as error:
        raise UsageError(
            f"this login may not build indexes: {_first_line(error)}",
            fix="use the administrator's URL: --database or VERAZ_DATABASE_URL",
        ) from error
    return Exchanged(size, round(time.perf_counter() - started, 3), built_at, notes)


# --- building beside


async def _build(connection: AsyncConnection[Any], wanted: WantedIndex) -> tuple[str, ...]:
    schema = await extension_schema_of(connection)
    notes: tuple[str, ...] = ()
    async with connection.transaction():
        await _begin(connection, wanted, schema)
        await connection.execute(_of("drop_index", wanted, index=_identifier(wanted, "next")))
        if wanted.kind == "none":
            return ()
        try:
            await _attempt(connection, wanted, serial=False)
        except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory) as error:
            notes = (
                f"built without parallel workers, for which the server had no memory: {_first_line(error)}",
            )
            await _serially(connection, wanted)
    return notes


async def _serially(connection: AsyncConnection[Any], wanted: WantedIndex) -> None:
    """The same with memory of one process alone, which needs no shared segment of the size of maintenance_work_mem."""
    try:
        await _attempt(connection, wanted, serial=True)
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory) as error:
        raise DatabaseError(
            f"the index could not be built, with parallel workers or without: {_first_line(error)}",
            fix="lower maintenance_work_mem below the server's shared memory (/dev/shm) and its free memory, or give it more; "
            "free space on its disk. The index that was there still serves",
        ) from error


async def _attempt(connection: AsyncConnection[Any], wanted: WantedIndex, *, serial: bool) -> None:
    async with connection.transaction():  # a savepoint: what fails here leaves the transaction usable
        settings = {"bytes": wanted.memory, "serial": serial}
        await connection.execute(statement("schema", "index_settings"), settings)
        operators = COMPARISONS[wanted.distance].operators
        literals = {name: sql.Literal(value) for name, value in wanted.built.items()}
        await connection.execute(
            _of(
                f"build_{wanted.kind}",
                wanted,
                index=sql.Identifier(index_name(wanted.space_id, "next")),
                index_of_schema=_identifier(wanted, "next"),
                operators=operators,
                **literals,
            )
        )


async def _begin(connection: AsyncConnection[Any], wanted: WantedIndex, schema: str) -> None:
    await act_as_owner(connection, schema)
    cursor = await connection.execute(statement("schema", "lock_space_index"), {"space_id": wanted.space_id})
    row = await cursor.fetchone()
    if row is None or not row[0]:
        raise UsageError(
            "another build of this space's index is under way", fix="wait until it is done: veraz status"
        )


# --- putting it into place


async def _put_in_place(connection: AsyncConnection[Any], wanted: WantedIndex) -> tuple[datetime, int]:
    schema = await extension_schema_of(connection)
    for _ in range(EXCHANGES):
        try:
            async with connection.transaction():
                await _begin(connection, wanted, schema)
                return await _exchanged(connection, wanted)
        except psycopg.errors.LockNotAvailable:
            await asyncio.sleep(PATIENCE_MS / 1000)  # searches that waited behind it go first
    raise DatabaseError(
        f"the new index is built, but searches or writes kept it from taking its place {EXCHANGES} times",
        fix="run the command again when less is asked, or end the sessions that stay in a transaction",
    )


async def _exchanged(connection: AsyncConnection[Any], wanted: WantedIndex) -> tuple[datetime, int]:
    await connection.execute(statement("schema", "swap_patience"), {"milliseconds": PATIENCE_MS})
    if wanted.kind != "none" and await _size(connection, wanted, "next") is None:
        raise UsageError(
            "another build of this space's index took over", fix="see what it made: veraz status"
        )
    for kind in ("hnsw", "ivfflat", "binary"):
        await connection.execute(_of("drop_index", wanted, index=_identifier(wanted, kind)))
    if wanted.kind != "none":
        named = sql.Identifier(index_name(wanted.space_id, wanted.kind))
        await connection.execute(_of("rename_index", wanted, index=_identifier(wanted, "next"), named=named))
    kept = {
        "space_id": wanted.space_id,
        "kind": wanted.kind,
        "options": msgspec.json.encode(dict(wanted.options)).decode(),
    }
    row = await (await connection.execute(statement("schema", "keep_space_index"), kept)).fetchone()
    assert row is not None
    return row[0], await _size(connection, wanted, wanted.kind) or 0


async def _size(connection: AsyncConnection[Any], wanted: WantedIndex, kind: str) -> int | None:
    named = {"index": f"veraz.{index_name(wanted.space_id, kind)}"}
    row = await (await connection.execute(statement("schema", "index_state"), named)).fetchone()
    return None if row is None else row[0]


def _of(name: str, wanted: WantedIndex, **slots: sql.Composable) -> sql.Composed:
    table, width = embedding_table(wanted.space_id), sql.Literal(wanted.dimension)
    return statement("schema", name).format(embedding=table, dimension=width, **slots)


def _identifier(wanted: WantedIndex, kind: str) -> sql.Identifier:
    return sql.Identifier("veraz", index_name(wanted.space_id, kind))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
