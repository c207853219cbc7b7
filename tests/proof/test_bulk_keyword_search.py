"""Keyword search right after one large ingest, and over matches by the ten thousand (public cases H12 and H13)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import quantiles
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.support import databases
from tests.support.corpus import Words, put, record, rows
from tests.support.large import TABLES

from veraz.engine import AsyncVeraz

DOCUMENTS, SECTIONS, SHARE = 400, 100, 5
"""Forty thousand chunks; three of `SHARE` mention the word."""

pytestmark = pytest.mark.slow


def filler(number: int) -> dict[str, Any]:
    made = Words(number, 2000)
    mention = ("the system", "a system", "this system", "no device", "a pump")
    text = "\n\n".join(
        f"## {made.sentence(2, 3)}\n\n{made.text(2)} See {mention[n % SHARE]}." for n in range(SECTIONS)
    )
    return record(f"bulk{number}", text, format="markdown")


async def p95(engine: AsyncVeraz, questions: Sequence[str]) -> float:
    """Seconds of a keyword search, the database's part and reading the hits."""
    taken = []
    for question in questions:
        started = time.perf_counter()
        await engine.search(question, lang="en", mode="lexical", trace=False)
        taken.append(time.perf_counter() - started)
    return quantiles(taken, n=20)[-1]


async def test_forty_thousand_chunks_in_one_go(database: str) -> None:
    with psycopg.connect(database) as admin:
        for (name,) in admin.execute(TABLES).fetchall():
            statement = sql.SQL("alter table {} set (autovacuum_enabled = off)")
            admin.execute(statement.format(sql.Identifier("veraz", name)))
    late = record("late", "## System shutdown order\n\nStop the feed, then the fan.", format="markdown")
    async with await databases.open_engine(database) as engine:
        await put(engine, *(filler(n) for n in range(DOCUMENTS)), late)
        assert await rows(engine, "select count(*) from veraz.chunk where is_current") == [
            (DOCUMENTS * SECTIONS + 1,)
        ]
        made = Words(1, 2000)
        questions = [made.question(4) for _ in range(50)]
        fresh = await p95(engine, questions)
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute("vacuum analyze")
        await engine.merge_index()
        settled = await p95(engine, questions)
        assert fresh <= 2 * settled + 0.005, f"{fresh * 1000:.1f} ms, then {settled * 1000:.1f} ms"

        first = await engine.search("system shutdown order", lang="en", mode="lexical", trace=False)
        assert first.hits[0].document.external_id == "late"
        common = await engine.search("system", lang="en", mode="lexical", trace=False)
        assert len(common.hits) == 10
        assert len({hit.document.external_id for hit in common.hits}) >= 5
        many = await p95(engine, ["system", "system shutdown order"] * 20)
        assert many < 1, f"{many * 1000:.0f} ms"
        print(f"fresh {fresh * 1000:.1f} ms, settled {settled * 1000:.1f} ms, common {many * 1000:.1f} ms")
