"""Putting documents into an engine without files, and looking at what is stored as the runtime role sees it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString

from psycopg import sql

from veraz.db.session import Connection
from veraz.engine import AsyncVeraz
from veraz.ingest.plan import Overrides
from veraz.nouns.corpus import Identity, IngestReport, RawItem, SourceSettings

Record = Mapping[str, Any]


def record(external_id: str, text: str, *, lang: str | None = "en", **fields: Any) -> dict[str, Any]:
    """One line of a collection. `lang=None` leaves the language to be detected."""
    stated = {"lang": lang} if lang else {}
    return {"id": external_id, "title": external_id, "text": text, **stated, **fields}


def items(records: Iterable[Record]) -> list[RawItem]:
    return [
        RawItem("records.jsonl", str(r["id"]), "record", record=r, line=n) for n, r in enumerate(records, 1)
    ]


async def put(
    engine: AsyncVeraz,
    *records: Record,
    source: str = "s",
    identity: Identity | None = None,
    clean: bool = True,
    **settings: Any,
) -> IngestReport:
    """Ingests records into `source`; nothing may fail unless `clean` is False."""
    report = await engine._ingest(
        identity or await engine.identity(),
        iter(items(records)),
        SourceSettings(source, **settings),
        Overrides(),
        None,
    )
    assert not (clean and report.errors), report.errors
    return report


async def rows(engine: AsyncVeraz, statement: LiteralString, *parameters: Any) -> list[tuple[Any, ...]]:
    """As the runtime role, in the engine's tenant, in mode "write"."""
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        return await (await connection.execute(statement, parameters or None)).fetchall()


async def maintenance_rows(
    engine: AsyncVeraz, statement: LiteralString, *parameters: Any
) -> list[tuple[Any, ...]]:
    """As the maintenance role, which sees every tenant."""
    async with engine._database.maintenance() as connection:
        return await (await connection.execute(statement, parameters or None)).fetchall()


async def tenant_tables(connection: Connection) -> list[str]:
    cursor = await connection.execute(
        "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'"
        " where not a.attisdropped and c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') order by 1"
    )
    return [row[0] for row in await cursor.fetchall()]


def table(name: str) -> sql.Identifier:
    return sql.Identifier("veraz", name)


class Words:
    """Texts of made-up words with the skewed frequencies of language: the same for the same seed."""

    def __init__(self, seed: int, size: int = 800) -> None:
        self.random = random.Random(seed)
        syllables = (
            "ba",
            "co",
            "di",
            "fu",
            "ge",
            "lo",
            "mi",
            "nu",
            "pra",
            "que",
            "ri",
            "sto",
            "ta",
            "ve",
            "zu",
            "kel",
        )
        made: dict[str, None] = {}
        while len(made) < size:
            made["".join(self.random.choices(syllables, k=self.random.choice((2, 3, 3, 4))))] = None
        self.vocabulary = list(made)
        self._weights = [1 / (rank + 3) for rank in range(size)]

    def sentence(self, low: int = 6, high: int = 16) -> str:
        words = self.random.choices(self.vocabulary, self._weights, k=self.random.randint(low, high))
        return " ".join(words).capitalize() + "."

    def text(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def question(self, words: int = 5) -> str:
        return " ".join(self.random.choices(self.vocabulary, self._weights, k=words))

    def records(
        self, count: int, *, prefix: str = "d", sections: int = 2, sentences: int = 3
    ) -> list[dict[str, Any]]:
        """Markdown documents, one chunk a section."""
        return [
            record(
                f"{prefix}{i}",
                "\n\n".join(f"## {self.sentence(2, 4)}\n\n{self.text(sentences)}" for _ in range(sections)),
                format="markdown",
            )
            for i in range(count)
        ]


def shuffled(seed: int, records: Sequence[Record]) -> list[Record]:
    mixed = list(records)
    random.Random(seed).shuffle(mixed)
    return mixed
