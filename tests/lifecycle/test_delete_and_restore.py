"""Deleted documents: gone from the next query on, back as they were, and never back by an ingest that had begun before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.test_supersession import check, edition, found
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError
from veraz.ingest import store
from veraz.nouns.corpus import Access, EmbeddingBatch, TextKind


async def test_a_restored_document_is_as_it_was(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"))
    await put(engine, edition("new", replaces="old", says="Second."))
    await engine.set_access("new", source="s", access=Access(("public", "hr"), "any", "boss"))
    before = await engine.show("new", source="s")
    assert await engine.delete("new", source="s") is True
    assert await engine.delete("new", source="s") is False
    assert await found(engine) == set(), "a deleted successor goes on hiding what it replaced"
    with pytest.raises(UsageError, match="no document 'new'"):
        await engine.show("new", source="s")
    assert (await engine.restore("new", source="s")).text_is_gone is False
    assert await found(engine) == {"new"}
    assert await engine.show("new", source="s") == before
    await check(engine)


async def test_a_deleted_successor_is_named_to_who_could_read_it(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"))
    await engine.delete("new", source="s")
    shown = await engine.show("old", source="s")
    assert (shown.superseded_by, shown.successor_deleted_at is not None) == ("new", True)
    assert shown.successor_erased_at is None
    await engine.set_access("new", source="s", access=Access(("hr",)))
    hidden = await engine.show("old", source="s")
    assert (hidden.superseded_by, hidden.successor_deleted_at) == (None, None)
    assert hidden.superseded_at is not None


async def test_what_was_not_deleted_is_not_restored(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"))
    with pytest.raises(ItemError, match="is not deleted"):
        await engine.restore("old", source="s")
    with pytest.raises(ItemError, match="no such document"):
        await engine.restore("absent", source="s")
    with pytest.raises(ItemError, match="no such document"):
        await engine.restore("old", source="absent")


class Pausing(HashingEmbedder):
    """Waits inside the first call for passages until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Any, kind: TextKind) -> EmbeddingBatch:
        self.reached.set()
        await self.go_on.wait()
        return await super().embed(texts, kind)


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("what", ["record", "file"])
async def test_an_ingest_that_was_under_way_does_not_undo_a_deletion(
    database: str, engine: AsyncVeraz, tmp_path: Path, what: str, dated: bool
) -> None:
    file = tmp_path / "fever.md"
    head = "---\nrevised_at: 2024-0{}-01\n---\n" if dated else "{}"

    async def ingest(on: AsyncVeraz, version: int) -> Any:
        stated = head.format(version) if dated else ""
        file.write_text(f"{stated}# Fever\n\nThe fever rule, version {version}.", encoding="utf-8")
        dates = {"revised_at": f"2024-0{version}-01"} if dated else {}
        line = record("fever.md", f"The fever rule, version {version}.", **dates)
        if what == "file":
            return await on.ingest([str(file)], source="s", lang="en")
        return await put(on, line, clean=False)

    assert (await ingest(engine, 1)).documents == 1
    pausing = Pausing()
    async with await databases.open_engine(database, pausing) as slow:
        running = asyncio.create_task(ingest(slow, 2))
        await pausing.reached.wait()
        assert await engine.delete("fever.md", source="s")
        pausing.go_on.set()
        report = await running
    assert [(e.external_id, e.stage) for e in report.errors] == [("fever.md", "store")]
    assert "was deleted while it was being ingested" in report.errors[0].reason
    assert await found(engine) == set()
    assert await rows(engine, "select deleted_at is not null from veraz.document") == [(True,)]
    again = await ingest(engine, 2)
    assert again.documents == 1, "an ingest that begins after the deletion brings the document back"
    assert await found(engine) == {"fever.md"}


async def test_deleted_again_between_two_looks_counts_as_a_new_deletion(
    database: str, engine: AsyncVeraz
) -> None:
    await put(engine, edition("fever"))
    await engine.delete("fever", source="s")
    pausing = Pausing()
    async with await databases.open_engine(database, pausing) as slow:
        running = asyncio.create_task(put(slow, edition("fever", says="Second."), clean=False))
        await pausing.reached.wait()
        await engine.restore("fever", source="s")
        await engine.delete("fever", source="s")
        pausing.go_on.set()
        report = await running
    assert [e.external_id for e in report.errors] == ["fever"]
    assert await found(engine) == set()


async def test_a_deletion_waits_for_the_revision_that_is_being_written(
    database: str, engine: AsyncVeraz, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the document and the pointer a deletion would be overwritten."""
    await put(engine, edition("fever"))
    reached, go_on = asyncio.Event(), asyncio.Event()
    write: Callable[..., Any] = store.write_revisions

    async def slow_write(*arguments: Any, **named: Any) -> Any:
        reached.set()
        await go_on.wait()
        return await write(*arguments, **named)

    monkeypatch.setattr(store, "write_revisions", slow_write)
    async with await databases.open_engine(database) as other:
        writing = asyncio.create_task(put(engine, edition("fever", says="Second.")))
        await reached.wait()
        deleting = asyncio.create_task(other.delete("fever", source="s"))
        done, _ = await asyncio.wait([deleting], timeout=0.5)
        assert not done, "it waits"
        go_on.set()
        await writing
        assert await deleting is True
    assert await found(engine) == set()


async def test_two_changes_of_one_document_at_once_leave_one_of_two_states(
    database: str, engine: AsyncVeraz
) -> None:
    await put(engine, edition("fever"))
    async with await databases.open_engine(database) as other:
        for _ in range(10):
            done = await asyncio.gather(
                engine.delete("fever", source="s"), other.delete("fever", source="s"), return_exceptions=True
            )
            assert sorted(map(str, done)) == ["False", "True"]
            await engine.restore("fever", source="s")
    assert await found(engine) == {"fever"}
