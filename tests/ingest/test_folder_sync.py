"""A folder that moves on: what is gone, renamed, left out, and what would be done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.corpus import rows

from veraz.engine import AsyncVeraz
from veraz.errors import CheckFailed, UsageError
from veraz.ingest import pipeline, store
from veraz.ingest.discover import discover
from veraz.ingest.embedding import Embedding
from veraz.nouns.corpus import Access, Change


def fill(root: Path, names: str) -> None:
    for name in names.split():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"About {name}: the valve {Path(name).stem} is open.\n")


async def ids(engine: AsyncVeraz) -> set[str]:
    found = await engine.search("valve open", lang="en", k=50)
    return {hit.document.external_id for hit in found.hits}


async def test_pruning_deletes_what_is_gone_and_nothing_else(engine: AsyncVeraz, tmp_path: Path) -> None:
    fill(tmp_path, "a.txt b.txt c.txt deep/d.txt")
    await engine.ingest([tmp_path], source="s")
    await engine.ingest([tmp_path / "a.txt"], source="other")
    (tmp_path / "b.txt").unlink()
    (tmp_path / "deep/d.txt").write_bytes(
        b"\x00\x01\x02 broken \xff\xfe" * 9
    )  # there, though it cannot be read today
    plain = await engine.ingest([tmp_path], source="s")
    assert (plain.deleted, plain.unchanged, plain.failed) == (0, 2, 1)
    report = await engine.ingest([tmp_path], source="s", prune=True)
    assert (report.deleted, report.unchanged, report.failed, report.changes) == (
        1, 2, 1, (Change("deleted", "b.txt"),),
    )  # fmt: skip
    assert await ids(engine) == {"a.txt", "c.txt", "deep/d.txt"}
    fill(tmp_path, "b.txt")
    assert (await engine.ingest([tmp_path], source="s", prune=True)).changes == ()
    assert "b.txt" in await ids(engine)


async def test_a_wrong_path_does_not_empty_a_source(engine: AsyncVeraz, tmp_path: Path) -> None:
    fill(tmp_path / "right", "a.txt b.txt c.txt d.txt e.txt")
    fill(tmp_path / "wrong", "z.txt")
    await engine.ingest([tmp_path / "right"], source="s")
    with pytest.raises(CheckFailed, match=r"5 of the source's 5 documents .* such as a.txt[\s\S]*--yes"):
        await engine.ingest([tmp_path / "wrong"], source="s", prune=True)
    assert await ids(engine) == {"a.txt", "b.txt", "c.txt", "d.txt", "e.txt"}
    with pytest.raises(CheckFailed, match=r"nothing was done: .* no such file or folder"):
        await engine.ingest([tmp_path / "missing"], source="s", prune=True, confirmed=True)
    with pytest.raises(UsageError, match="standard input"):
        await engine.ingest(["-"], source="s", prune=True)
    report = await engine.ingest([tmp_path / "wrong"], source="s", prune=True, confirmed=True)
    assert (report.new, report.deleted) == (1, 5)
    assert await ids(engine) == {"z.txt"}


async def test_a_renamed_document_keeps_its_labels_and_its_vectors(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    fill(tmp_path, "a.txt b.txt")
    await engine.ingest([tmp_path], source="s")
    await engine.set_access("a.txt", source="s", access=Access(("board",)))
    (tmp_path / "a.txt").rename(tmp_path / "moved.txt")
    fill(tmp_path, "copy.txt")
    report = await engine.ingest([tmp_path], source="s", prune=True)
    assert (report.renamed, report.new, report.deleted, report.embedded) == (1, 2, 1, 2)
    assert report.changes == (Change("renamed", "moved.txt", "a.txt"),)
    assert await ids(engine) == {"b.txt", "copy.txt"}
    labels = await rows(
        engine, "select external_id, acl from veraz.document where deleted_at is null order by 1"
    )
    assert labels == [("b.txt", ["public"]), ("copy.txt", ["public"]), ("moved.txt", ["board"])]


async def test_a_dry_run_says_what_the_run_then_does(engine: AsyncVeraz, tmp_path: Path) -> None:
    first = await engine.ingest([tmp_path / "none.txt"], source="s", dry_run=True)
    assert (first.failed, first.dry_run) == (1, True)
    assert await rows(engine, "select count(*) from veraz.source") == [(0,)]
    fill(tmp_path, "a.txt b.txt c.txt d.txt")
    await engine.ingest([tmp_path], source="s")
    (tmp_path / "a.txt").write_text("The valve a is shut.\n")
    (tmp_path / "b.txt").rename(tmp_path / "x.txt")
    (tmp_path / "c.txt").unlink()
    fill(tmp_path, "n.txt")
    before = await rows(
        engine, "select external_id, current_revision_id, deleted_at from veraz.document order by 1"
    )
    planned = await engine.ingest([tmp_path], source="s", prune=True, dry_run=True)
    assert (
        await rows(
            engine, "select external_id, current_revision_id, deleted_at from veraz.document order by 1"
        )
        == before
    )
    assert planned.changes == (
        Change("changed", "a.txt"),
        Change("new", "n.txt"),
        Change("renamed", "x.txt", "b.txt"),
        Change("deleted", "c.txt"),
    )
    done = await engine.ingest([tmp_path], source="s", prune=True)
    counts = ("new", "changed", "unchanged", "renamed", "deleted", "failed")
    assert (
        [getattr(planned, name) for name in counts]
        == [getattr(done, name) for name in counts]
        == [2, 1, 1, 1, 2, 0]
    )
    assert not done.dry_run
    assert (await engine.ingest([tmp_path], source="s", prune=True, dry_run=True)).changes == ()


@pytest.mark.parametrize("dry_run", [False, True])
async def test_what_was_being_replaced_while_it_was_listed_is_not_pruned(
    engine: AsyncVeraz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    """A file that a checkout takes away and puts back is found by the run, though not by the listing before it."""
    fill(tmp_path, "a.txt b.txt c.txt")
    await engine.ingest([tmp_path], source="s")
    (tmp_path / "c.txt").unlink()
    found = discover

    def listed(*arguments: Any, names_only: bool = False, **rest: Any) -> Iterator[Any]:
        return iter(()) if names_only else found(*arguments, **rest)

    monkeypatch.setattr("veraz.engine.corpus.discovery.discover", listed)
    report = await engine.ingest([tmp_path], source="s", prune=True, dry_run=dry_run)
    assert (report.unchanged, report.deleted, report.changes) == (2, 1, (Change("deleted", "c.txt"),))
    assert await ids(engine) == {"a.txt", "b.txt", *(["c.txt"] if dry_run else [])}


async def test_a_dry_run_says_whose_labels_would_change(engine: AsyncVeraz, tmp_path: Path) -> None:
    lines = [
        {"id": "r1", "text": "The valve one is open.", "acl": ["staff"]},
        {"id": "r2", "text": "The valve two is open."},
    ]
    collection = tmp_path / "c.jsonl"
    collection.write_text("\n".join(map(json.dumps, lines)))
    await engine.ingest([collection], source="s")
    same = await engine.ingest([collection], source="s", dry_run=True)
    assert (same.unchanged, same.changes) == (2, ())
    lines[0]["acl"] = ["board"]
    collection.write_text("\n".join(map(json.dumps, lines)))
    for stated, changed in ((None, ("r1",)), (["board"], ("r2",))):
        planned = await engine.ingest([collection], source="s", acl=stated, dry_run=True)
        done = await engine.ingest([collection], source="s", acl=stated)
        assert planned.changes == tuple(Change("changed", name) for name in changed)
        assert (planned.changed, planned.unchanged) == (done.changed, done.unchanged) == (1, 1)
    lines[0]["acl"] = {"any": [], "all": []}
    collection.write_text("\n".join(map(json.dumps, lines)))
    planned = await engine.ingest([collection], source="s", dry_run=True)
    done = await engine.ingest([collection], source="s")
    assert [e.reason for e in planned.errors] == [e.reason for e in done.errors] != []


async def test_large_files_are_not_all_in_memory_at_once(
    engine: AsyncVeraz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW_BYTES", 1_000)
    for n in range(12):
        (tmp_path / f"{n:02}.txt").write_text(f"Number {n} says that the valve is open. " * 10)
    sizes: list[int] = []
    parse = pipeline.Ingest._parse

    async def seen(run: pipeline.Ingest, items: Any, **rest: Any) -> Any:
        sizes.append(sum(len(item.payload) for item in items))
        return await parse(run, items, **rest)

    monkeypatch.setattr(pipeline.Ingest, "_parse", seen)
    assert (await engine.ingest([tmp_path], source="s")).new == 12
    assert max(sizes) < 1_500
    assert len(sizes) > 3


async def test_what_is_read_together_is_written_in_windows(
    engine: AsyncVeraz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of long documents is read at once; were it embedded at once, stopping after minutes would lose all of them."""
    monkeypatch.setattr(pipeline, "WINDOW_CHUNKS", 4)
    fill(tmp_path, " ".join(f"{n:02}.txt" for n in range(10)))
    windows: list[int] = []
    embed = Embedding.window

    async def seen(embedding: Embedding, window: Any, into: Any) -> None:
        windows.append(len(window))
        await embed(embedding, window, into)

    monkeypatch.setattr(Embedding, "window", seen)
    assert (await engine.ingest([tmp_path], source="s")).new == 10
    assert windows == [4, 4, 2]


async def test_ignored_files_are_left_out_of_folders_and_globs(engine: AsyncVeraz, tmp_path: Path) -> None:
    fill(tmp_path, "a.txt drafts/b.txt deep/c.txt deep/keep.txt deep/er/c.txt notes.txt")
    (tmp_path / ".verazignore").write_text("drafts/\n# a comment\nc.txt\n")
    (tmp_path / "deep/.verazignore").write_text("!c.txt\n/keep.txt\n")
    assert (await engine.ingest([tmp_path], source="s", exclude=["notes*"])).new == 3
    assert await ids(engine) == {"a.txt", "deep/c.txt", "deep/er/c.txt"}
    report = await engine.ingest([str(tmp_path / "**/*.txt")], source="s", exclude=["notes*"], prune=True)
    assert (report.unchanged, report.deleted) == (3, 0)
    left_out = await engine.ingest([tmp_path], source="s", exclude=["notes*", "deep"], prune=True)
    assert (left_out.unchanged, left_out.deleted) == (1, 2)
    with pytest.raises(UsageError, match="no pattern"):
        await engine.ingest([tmp_path], source="s", exclude=["!"])


async def test_what_another_ingest_wrote_meanwhile_is_not_pruned(engine: AsyncVeraz, tmp_path: Path) -> None:
    fill(tmp_path, "a.txt b.txt")
    await engine.ingest([tmp_path], source="s")
    identity = await engine.identity()
    source_id = store.source_key(identity.tenant_id, "s")
    async with engine._database.transaction(identity, "write") as connection:
        listed = await store.live_documents(connection, source_id)
    (tmp_path / "a.txt").write_text("The valve a is shut.\n")
    await engine.ingest([tmp_path / "a.txt"], source="s")
    async with engine._database.transaction(identity, "write") as connection:
        assert await store.delete_documents(connection, source_id, list(listed.values())) == ["b.txt"]
    assert [
        d for (d,) in await rows(engine, "select external_id from veraz.document where deleted_at is null")
    ] == ["a.txt"]
