"""What an indexed word means does not depend on a setting of the server (public case H10)."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz

LITERAL = ("fietsen", "vergunningen", "Vergunning", "kelder plaatsen", "mijn FIETSEN staan hier")
INFLECTED = ("fiets", "bewoner")
"""Whether a stemmer joins these with the file's words is the language's affair; that the answer never changes is ours."""


async def lexical(engine: AsyncVeraz, question: str) -> list[tuple[UUID, float]]:
    found = await engine.search(question, lang="nl", mode="lexical")
    return [(h.chunk_id, h.lexical.score) for h in found.hits if h.lexical]


@pytest.mark.parametrize("setting", ["simple", "english"])
async def test_default_text_search_config_changes_nothing(database: str, cases: Path, setting: str) -> None:
    dutch = record("dutch", (cases / "h_dutch.txt").read_text(encoding="utf-8"), lang="nl")
    questions = (*LITERAL, *INFLECTED)
    async with await databases.open_engine(database) as engine:
        await put(engine, dutch, record("english", "A text about something else.", lang="en"))
        before = {q: await lexical(engine, q) for q in questions}
        vectors = await rows(engine, "select tsv::text from veraz.chunk_lexical order by chunk_id")
    assert [q for q in LITERAL if not before[q]] == []
    with psycopg.connect(database, autocommit=True) as admin:
        command = sql.SQL("alter database {} set default_text_search_config = {}")
        admin.execute(command.format(sql.Identifier(admin.info.dbname), sql.Literal(setting)))
    async with await databases.open_engine(database) as engine:
        async with engine._database.administration() as connection:
            shown = await (await connection.execute("show default_text_search_config")).fetchone()
        assert shown in [(setting,), (f"pg_catalog.{setting}",)]
        assert {q: await lexical(engine, q) for q in questions} == before
        await put(engine, {**dutch, "date": "2024-01-01"})  # the same text, indexed under the other setting
        again = await rows(
            engine, "select tsv::text from veraz.chunk_lexical where is_current order by chunk_id"
        )
        assert sorted(again) == sorted(vectors)
