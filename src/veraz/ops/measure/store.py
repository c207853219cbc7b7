"""What measuring asks of the database: one function per statement, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec
import numpy as np
import psycopg
from psycopg import sql

from veraz.db.rows import rows_of
from veraz.db.session import OPS_ROLE, RUNTIME_ROLE, Connection
from veraz.db.statements import COMPARISONS, embedding_table, space_statement, statement
from veraz.filters.compose import composed
from veraz.nouns.corpus import IndexKind, Vectors
from veraz.nouns.distance import Distance
from veraz.nouns.question import Filters
from veraz.ops.measure.methods import Setting
from veraz.ops.measure.recall import Found

HERE = "ops/measure"


def conditions(filters: Filters) -> dict[str, Any]:
    """Filters as the parameters of a statement."""
    stated = {f.name: getattr(filters, f.name) for f in fields(Filters)}
    lists = {name: list(v) if isinstance(v, tuple) else v for name, v in stated.items()}
    return {**lists, **composed(filters).parameters}


def slots(filters: Filters) -> dict[str, sql.Composable]:
    """What their expression puts into a statement."""
    return composed(filters).slots()


def vector_text(vector: Vectors) -> str:
    return msgspec.json.encode(np.asarray(vector, dtype=np.float64).tolist()).decode()


# --- where queries come from


@dataclass(frozen=True, slots=True)
class QuestionRow:
    question: str
    lang: str | None


async def sample_questions(connection: Connection, seed: int, count: int) -> list[QuestionRow]:
    parameters = {"seed": seed, "count": count}
    return await rows_of(connection, QuestionRow, statement(HERE, "sample_questions"), parameters)


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """`vector` is pgvector's text of it; `words` are the first of the chunk as shown."""

    chunk_id: UUID
    vector: str
    words: str
    lang: str


async def sample_chunks(
    connection: Connection, space_id: int, filters: Filters, seed: int, count: int
) -> list[ChunkRow]:
    parameters = {**conditions(filters), "seed": seed, "count": count}
    cursor = await connection.execute(
        space_statement(HERE, "sample_chunks", space_id, **slots(filters)), parameters
    )
    return [ChunkRow(*row) for row in await cursor.fetchall()]


# --- what is there


@dataclass(frozen=True, slots=True)
class ScopeRow:
    vectors: int
    permitted: int


async def scope(connection: Connection, space_id: int, filters: Filters) -> ScopeRow:
    query = space_statement(HERE, "scope", space_id, **slots(filters))
    cursor = await connection.execute(query, conditions(filters))
    row = await cursor.fetchone()
    assert row is not None
    return ScopeRow(*row)


@dataclass(frozen=True, slots=True)
class LiveIndexRow:
    """Nulls where the space has no valid index. `options` are the index's own, `recorded` those of the space, as JSON."""

    kind: IndexKind
    recorded: str
    options: Sequence[str] | None
    index_bytes: int | None
    table_bytes: int
    posting_bytes: int
    server: str
    pgvector: str
    memory: int


async def live_index(connection: Connection, space_id: int) -> LiveIndexRow:
    (row,) = await rows_of(connection, LiveIndexRow, statement(HERE, "live_index"), {"space_id": space_id})
    return row


# --- the copy, which exists in one transaction alone


@dataclass(frozen=True, slots=True)
class Copy:
    """Names of what is tried out. No other transaction ever sees them."""

    schema: str
    space_id: int
    dimension: int
    distance: Distance

    @classmethod
    def named(cls, space_id: int, dimension: int, distance: Distance) -> Copy:
        return cls(f"veraz_measure_{uuid4().hex[:12]}", space_id, dimension, distance)

    def statement(self, name: str, **more: sql.Composable) -> sql.Composed:
        """A statement over the copy: tables, indexes and dimensions cannot be bound as parameters."""
        comparison = COMPARISONS[self.distance]
        return statement(HERE, name).format(
            operators=comparison.operators,
            **comparison.slots(),
            schema=sql.Identifier(self.schema),
            copy=sql.Identifier(self.schema, "copy"),
            embedding=embedding_table(self.space_id),
            dimension=sql.Literal(self.dimension),
            role=sql.Identifier(OPS_ROLE),
            reader=sql.Identifier(RUNTIME_ROLE),
            **more,
        )


async def make_schema(connection: Connection, copy: Copy) -> None:
    await connection.execute(copy.statement("scratch_schema"))


async def watch_client(connection: Connection) -> None:
    with suppress(psycopg.DataError, psycopg.NotSupportedError):
        async with connection.transaction():
            await connection.execute(statement(HERE, "watch_client"))


async def fill(connection: Connection, copy: Copy, tenant_id: UUID | None) -> tuple[int, Vectors | None]:
    """Copies the current vectors of one tenant, or of all. Returns how many, and their mean; None where there are none."""
    await connection.execute(copy.statement("scratch_table"))
    of_tenant = {"tenant_id": tenant_id}
    row = await (await connection.execute(copy.statement("scratch_centre"), of_tenant)).fetchone()
    if row is None or row[0] is None:
        return 0, None
    cursor = await connection.execute(copy.statement("scratch_fill"), {**of_tenant, "centre": row[0]})
    await connection.execute(copy.statement("scratch_statistics"))
    return cursor.rowcount, np.asarray(msgspec.json.decode(row[0]), dtype=np.float32)


async def grant_memory(connection: Connection, needed: int) -> None:
    await connection.execute(statement(HERE, "build_settings"), {"bytes": needed})


async def build(connection: Connection, copy: Copy, method: str, options: Mapping[str, int]) -> int:
    """Makes the index of a method over the copy, and returns its bytes."""
    index = sql.Identifier("tried")
    name = {"hnsw_fresh": "scratch_hnsw", "ivfflat": "scratch_ivfflat"}.get(method, "scratch_binary")
    column = sql.Identifier(signs_of(method))
    literals = {key: sql.Literal(value) for key, value in options.items()}
    await connection.execute(copy.statement(name, index=index, column=column, **literals))
    size = {"index": f"{copy.schema}.tried"}
    row = await (await connection.execute(statement(HERE, "scratch_size"), size)).fetchone()
    assert row is not None
    return int(row[0])


def signs_of(method: str) -> str:
    """The column that holds the signs of a binary method."""
    return "centred" if method == "binary_centred" else "signs"


async def drop(connection: Connection, copy: Copy) -> None:
    await connection.execute(copy.statement("scratch_drop", index=sql.Identifier(copy.schema, "tried")))


async def scan_settings(
    connection: Connection, setting: Setting | None, max_scan_tuples: int, *, sort: bool
) -> None:
    """How the approximate scans of this transaction look; without `sort` they cannot be planned as a sort of all vectors."""
    parameters = {
        "ef_search": str(setting.ef_search if setting else 40),
        "probes": str(setting.probes if setting else 1),
        "max_scan_tuples": str(max_scan_tuples),
        "sort": "on" if sort else "off",
    }
    await connection.execute(statement(HERE, "scan_settings"), parameters)


async def nearest(
    connection: Connection, copy: Copy, filters: Filters, vector: Vectors, pool: int
) -> list[tuple[UUID, float]]:
    """By whatever index the copy has. Scores: by the space's distance, higher is better."""
    parameters = {**conditions(filters), "vector": vector_text(vector), "pool": pool}
    cursor = await connection.execute(copy.statement("scratch_nearest", **slots(filters)), parameters)
    return await cursor.fetchall()


async def nearest_by_signs(
    connection: Connection,
    copy: Copy,
    filters: Filters,
    vector: Vectors,
    pool: int,
    *,
    method: str,
    centre: Vectors,
    candidates: int,
) -> list[tuple[UUID, float]]:
    """`candidates` by Hamming distance, of which the best `pool` by their vectors. Scores: as of `nearest`."""
    around = np.asarray(vector) - centre if method == "binary_centred" else np.asarray(vector)
    parameters = {
        **conditions(filters),
        "vector": vector_text(vector),
        "signs": "".join("1" if value > 0 else "0" for value in around),
        "candidates": candidates,
        "pool": pool,
    }
    query = copy.statement("scratch_hamming", column=sql.Identifier(signs_of(method)), **slots(filters))
    return await (await connection.execute(query, parameters)).fetchall()


# --- sampled while searches run


async def insert_sample(
    connection: Connection,
    *,
    k: int,
    found: Found,
    arm: str | None,
    space_id: int | None,
    approximated: bool = False,
    filtered: bool = False,
    exact_ms: float = 0.0,
    dropped: int = 0,
) -> None:
    """What an arm found; or, with `arm` None, how many samples were dropped."""
    parameters = {
        "arm": arm,
        "space_id": space_id,
        "k": k,
        "expected": found.expected,
        "found": found.found,
        "approximated": approximated,
        "filtered": filtered,
        "exact_ms": exact_ms,
        "dropped": dropped,
    }
    await connection.execute(statement(HERE, "insert_sample"), parameters)


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """The columns of recall_series.sql."""

    day: date
    arm: str | None
    samples: int
    approximated: int
    mean: float | None
    worst: float | None
    exact_ms: float | None
    dropped: int


async def recall_series(connection: Connection, since: datetime) -> list[SeriesRow]:
    return await rows_of(connection, SeriesRow, statement(HERE, "recall_series"), {"since": since})
