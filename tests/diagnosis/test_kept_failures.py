"""Why a document could not be taken is kept until it can, for those who may know, and no longer than the document."""

from __future__ import annotations

from pathlib import Path

from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz

KEPT = "select source, external_id, stage, reason from veraz.ingest_failure order by external_id"


async def test_a_failure_is_kept_and_forgotten_when_it_is_taken(engine: AsyncVeraz, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_bytes(b"%PDF-1.4\nno pages")
    report = await engine.ingest(file, source="s")
    assert report.failed == 1
    [(source, external_id, stage, reason)] = await rows(engine, KEPT)
    assert (source, external_id, stage) == ("s", "a.html", "parse")
    assert reason == report.errors[0].reason
    await engine.ingest(file, source="s")
    assert len(await rows(engine, KEPT)) == 1
    file.write_text("<p>Now it is text, and can be read.</p>", encoding="utf-8")
    assert (await engine.ingest(file, source="s")).new == 1
    assert await rows(engine, KEPT) == []


async def test_a_failed_change_is_forgotten_when_the_old_state_comes_back(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Fine."))
    await put(engine, record("a", "Fine.", revised_at="no day"), clean=False)
    assert [row[1] for row in await rows(engine, KEPT)] == ["a"]
    assert (await put(engine, record("a", "Fine."))).unchanged == 1
    assert await rows(engine, KEPT) == []


async def test_failures_of_one_source_are_not_settled_by_another(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Fine.", revised_at="no day"), source="s", clean=False)
    await put(engine, record("a", "Fine."), source="t")
    assert [row[:2] for row in await rows(engine, KEPT)] == [("s", "a")]


async def test_readers_see_none(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Fine.", revised_at="no day"), clean=False)
    async with engine._database.transaction(await engine.identity()) as connection:
        assert await (await connection.execute(KEPT)).fetchall() == []


async def test_an_erasure_takes_it_along_and_none_follows(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Fine."), record("b", "Good."))
    for name in ("a", "never"):
        await put(engine, record(name, "Worse.", revised_at="no day"), clean=False)
    assert [row[1] for row in await rows(engine, KEPT)] == ["a", "never"]
    await engine.erase("a", source="s")
    await engine.erase("never", source="s")
    assert await rows(engine, KEPT) == []
    assert (await put(engine, record("a", "Again."), clean=False)).failed == 1
    assert await rows(engine, KEPT) == []


async def test_an_id_that_cannot_be_stored_is_not_kept(engine: AsyncVeraz) -> None:
    report = await put(engine, record("x" * 1200, "Fine."), record("b", "Good."), clean=False)
    assert (report.failed, report.new) == (1, 1)
    assert all(len(row[1]) <= 1000 for row in await rows(engine, KEPT))
