"""Merging deltas right after a first load, when no table has statistics: no loop over rows and terms."""

from __future__ import annotations

import re

import psycopg
import pytest
from psycopg import sql
from tests.support import databases
from tests.support.corpus import Words, put
from tests.support.hashing import HashingEmbedder

from veraz.ingest import pipeline, store

EXPLAINING = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_level": "notice",
}


async def test_a_first_merge_looks_terms_up_by_key(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def later(*_: object, **__: object) -> None:
        return None

    with psycopg.connect(database, autocommit=True) as admin:
        for table in ("posting", "lexical_stat", "chunk_lexical"):
            admin.execute(f"alter table veraz.{table} set (autovacuum_enabled = off)")  # it analyses as well
        with monkeypatch.context() as patch:
            patch.setattr(pipeline.Ingest, "_merge", later)
            async with await databases.open_engine(database, HashingEmbedder()) as engine:
                records = Words(3, 3000).records(150, prefix="d", sections=3, sentences=4)
                for part in range(0, len(records), 10):  # small runs: a large one is followed by ANALYZE
                    await put(engine, *records[part : part + 10])
                    if part == 0:
                        await (
                            engine.merge_index()
                        )  # the first merge measures the texts, and builds everything anew
        for name, value in EXPLAINING.items():
            admin.execute(
                sql.SQL("alter database {} set {} = {}").format(
                    sql.Identifier(admin.info.dbname), sql.Identifier(*name.split(".")), value
                )
            )
    plans: list[str] = []
    async with (
        await databases.open_engine(database, HashingEmbedder()) as engine,
        engine._database.transaction(await engine.identity(), "write") as connection,
    ):
        connection.add_notice_handler(lambda notice: plans.append(notice.message_primary or ""))
        merged = await store.merge_postings(connection, "en")
    assert merged > 2000
    assert any("Delete on posting" in plan and "CTE touched" in plan for plan in plans)
    removed = [int(n) for plan in plans for n in re.findall(r"Rows Removed by Join Filter: (\d+)", plan)]
    assert sum(removed) < merged
