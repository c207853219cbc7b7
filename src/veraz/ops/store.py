"""What maintenance asks of the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import space_statement, statement
from veraz.nouns.corpus import IndexKind, SpaceSpec
from veraz.nouns.repeated import Repeated, RepeatedText
from veraz.nouns.status import Counts, DeadRows, LexicalState, SpaceIndexed


@dataclass(frozen=True, slots=True)
class Space:
    space_id: int
    spec: SpaceSpec
    is_active: bool


async def counts(connection: Connection) -> Counts:
    row = await (await connection.execute(statement("ops", "counts"))).fetchone()
    assert row is not None
    return Counts(*row)


async def spaces(connection: Connection) -> tuple[Space, ...]:
    rows = await (await connection.execute(statement("ops", "spaces"))).fetchall()
    return tuple(Space(row[0], SpaceSpec(*row[1:11]), row[11]) for row in rows)


@dataclass(frozen=True, slots=True)
class SpaceIndexRow:
    """The columns of space_indexes.sql."""

    space: str
    space_id: int
    kind: IndexKind
    options: str
    built_at: datetime | None
    bytes: int | None
    unplaced: str | None


async def space_indexes(connection: Connection) -> tuple[SpaceIndexed, ...]:
    rows = await rows_of(connection, SpaceIndexRow, statement("ops", "space_indexes"), {})
    return tuple(
        SpaceIndexed(
            r.space,
            r.kind,
            msgspec.json.decode(r.options, type=dict[str, int]),
            r.built_at,
            r.bytes,
            r.unplaced,
        )
        for r in rows
    )


async def space_vectors(connection: Connection, space_id: int) -> int:
    row = await (await connection.execute(space_statement("ops", "space_vectors", space_id))).fetchone()
    assert row is not None
    return int(row[0])


async def lexical_state(connection: Connection) -> tuple[LexicalState, ...]:
    rows = await (await connection.execute(statement("ops", "lexical_state"))).fetchall()
    return tuple(LexicalState(r[0], r[1], int(r[2]), int(r[3]), int(r[4]), float(r[5])) for r in rows)


async def invalid_indexes(connection: Connection) -> tuple[str, ...]:
    return tuple(
        row[0] for row in await (await connection.execute(statement("ops", "invalid_indexes"))).fetchall()
    )


async def dead_rows(connection: Connection) -> tuple[DeadRows, ...]:
    rows = await (await connection.execute(statement("ops", "dead_rows"))).fetchall()
    return tuple(DeadRows(*row) for row in rows)


async def source_slugs(connection: Connection) -> tuple[str, ...]:
    rows = await (await connection.execute(statement("ops", "source_slugs"))).fetchall()
    return tuple(row[0] for row in rows)


async def readable_documents(
    connection: Connection, external_ids: Sequence[str], source: str | None
) -> frozenset[str]:
    """Those of the documents that the caller may read now."""
    parameters = {"external_ids": list(external_ids), "source": source}
    rows = await (await connection.execute(statement("ops", "readable_documents"), parameters)).fetchall()
    return frozenset(row[0] for row in rows)


@dataclass(frozen=True, slots=True)
class RepeatedRow:
    """The columns of repeated_texts.sql."""

    documents: int
    passages: int
    example: str
    body: str
    repeated_passages: int
    all_passages: int


async def repeated_texts(connection: Connection, source: str, least: int, top: int) -> Repeated:
    parameters = {"source": source, "least": least, "top": top}
    rows = await rows_of(connection, RepeatedRow, statement("ops", "repeated_texts"), parameters)
    return Repeated(
        source=source,
        repeated_passages=rows[0].repeated_passages if rows else 0,
        all_passages=rows[0].all_passages if rows else 0,
        texts=tuple(RepeatedText(r.documents, r.passages, r.example, r.body) for r in rows),
    )
