"""Documents that wait share a transaction: what is stored is what each alone would have left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from tests.support import databases
from tests.support.corpus import Words, put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.ingest import writing
from veraz.ingest.pipeline import Ingest
from veraz.ingest.stages import Embedded, Prepared
from veraz.nouns.corpus import EmbeddingBatch, ParsedDocument, RawItem, TextKind

CHUNKS = """
select d.external_id, r.number, c.ord, c.is_current, c.body, l.is_current, l.analyser, l.length, l.tsv::text, l.bm25::text,
       e.is_current, e.vec::text, d.superseded_by is not null
  from veraz.chunk c
  join veraz.document d using (tenant_id, document_id)
  join veraz.revision r using (tenant_id, revision_id)
  join veraz.chunk_lexical l using (tenant_id, chunk_id)
  join veraz.embedding_1 e using (tenant_id, chunk_id)
 order by 1, 2, 3
"""
POSTINGS = """
select p.analyser, p.term, d.external_id, c.ord, u.impact, sum(sign(p.n))
  from veraz.posting p
 cross join lateral unnest(p.chunk_nos, p.impacts) u (chunk_no, impact)
  join veraz.chunk_lexical l on l.tenant_id = p.tenant_id and l.chunk_no = u.chunk_no
  join veraz.chunk c on c.tenant_id = l.tenant_id and c.chunk_id = l.chunk_id
  join veraz.document d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
 group by 1, 2, 3, 4, 5 having sum(sign(p.n)) <> 0 order by 1, 2, 3, 4, 5
"""
SUMS = """
select analyser, sum(chunks), sum(length), sum(postings * sign(chunks)) from veraz.lexical_stat group by 1 order by 1
"""


def corpus(seed: int, documents: int) -> list[dict[str, Any]]:
    """Documents of one to many chunks, two languages, dated and undated second versions, one replaced by another."""
    words = Words(seed)
    some = [
        record(f"d{n}", words.text(20 + 40 * (n % 5)), lang="es" if n % 3 else "en") for n in range(documents)
    ]
    later = [record(f"d{n}", words.text(30)) for n in range(0, documents, 4)]
    dated = [
        record("old", words.text(25), revised_at=day) for day in ("2024-05-01", "2023-05-01", "2025-05-01")
    ]
    replaced = [record("first", words.text(20)), record("second", words.text(20), supersedes="first")]
    return [*some, *replaced, *dated, *later]


async def stored(engine: AsyncVeraz) -> tuple[Any, ...]:
    return await rows(engine, CHUNKS), await rows(engine, POSTINGS), await rows(engine, SUMS)


@pytest.mark.parametrize("documents", [16, pytest.param(40, marks=pytest.mark.slow)])
async def test_together_or_alone_leaves_the_same(
    server: str, template: str, monkeypatch: pytest.MonkeyPatch, documents: int
) -> None:
    async def left(size: int, writers: int) -> Any:
        monkeypatch.setattr(writing, "GROUP_DOCUMENTS", size)
        monkeypatch.setattr(writing, "WRITERS", writers)
        with databases.fresh(server, template) as url:
            async with await databases.open_engine(url, HashingEmbedder()) as engine:
                for seed in (1, 2):
                    await put(engine, *corpus(seed, documents))
                return await stored(engine)

    alone = await left(1, 1)
    assert len(alone[0]) > 2 * documents
    assert {row[3] for row in alone[0]} == {True, False}
    for size, writers in ((1, 3), (2, 2), (7, 1), (64, 2)):
        assert await left(size, writers) == alone, (size, writers)


class Zero(HashingEmbedder):
    """No direction at all for a text that says so: the table refuses such a vector."""

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        batch = await super().embed(texts, kind)
        empty = ["nowhere" in text for text in texts]
        return EmbeddingBatch(np.where(np.array(empty)[:, None], 0, batch.vectors), batch.truncated)


async def test_one_that_the_server_refuses_costs_itself_alone(database: str) -> None:
    records = [record(f"d{n}", f"Text {n} about topic{n}.") for n in range(20)]
    records[7] = record("d7", "This leads nowhere.")
    async with await databases.open_engine(database, Zero()) as engine:
        report = await put(engine, *records, clean=False)
        assert (report.new, report.documents, report.failed) == (19, 19, 1)
        assert [(e.external_id, e.stage) for e in report.errors] == [("d7", "store")]
        found = await rows(engine, "select external_id from veraz.document order by 1")
        assert [row[0] for row in found] == sorted(r["id"] for r in records if r["id"] != "d7")


def waiting(
    external_id: str, *, chunks: int = 1, text: str = "text", supersedes: str | None = None
) -> Embedded:
    document = ParsedDocument(external_id, text, "title", (), (), "plain/1", "text", supersedes=supersedes)
    fields = dict.fromkeys(Prepared.__dataclass_fields__)
    item = RawItem("file", external_id, "text")
    more = {"item": item, "document": document, "chunks": (None,) * chunks}
    return Embedded(cast("Any", Prepared)(**{**fields, **more}), np.zeros((chunks, 2)), 0)


async def grouped(*embedded: Embedded) -> list[list[str]]:
    queue: asyncio.Queue[Embedded | None] = asyncio.Queue()
    for one in (*embedded, None):
        queue.put_nowait(one)
    return [[e.prepared.item.external_id for e in group] async for group in writing.groups(queue)]


async def test_a_group_holds_a_document_once_and_what_declares_is_alone() -> None:
    same = [waiting("a"), waiting("b"), waiting("a"), waiting("c")]
    assert await grouped(*same) == [["a", "b"], ["a", "c"]]
    declares = [waiting("a"), waiting("b", supersedes="a"), waiting("c"), waiting("d")]
    assert await grouped(*declares) == [["a"], ["b"], ["c", "d"]]
    assert await grouped() == []


async def test_a_group_is_no_larger_than_one_transaction_should_be() -> None:
    many = [waiting(str(n)) for n in range(writing.GROUP_DOCUMENTS + 1)]
    assert list(map(len, await grouped(*many))) == [writing.GROUP_DOCUMENTS, 1]
    large = waiting("large", chunks=writing.GROUP_CHUNKS + 1)
    assert await grouped(waiting("a"), large, waiting("b")) == [["a"], ["large"], ["b"]]
    long = waiting("long", text="x" * (writing.GROUP_CHARACTERS + 1))
    assert await grouped(waiting("a"), long, waiting("b")) == [["a"], ["long"], ["b"]]


async def test_nothing_is_waited_for_once_there_is_a_document() -> None:
    queue: asyncio.Queue[Embedded | None] = asyncio.Queue()
    groups = writing.groups(queue)
    queue.put_nowait(waiting("a"))
    assert len(await asyncio.wait_for(anext(groups), 5)) == 1
    following = asyncio.ensure_future(anext(groups))
    await asyncio.sleep(0)
    queue.put_nowait(waiting("b"))
    assert [e.prepared.item.external_id for e in await asyncio.wait_for(following, 5)] == ["b"]


async def test_beside_another_write_a_group_waits_until_it_is_full() -> None:
    queue: asyncio.Queue[Embedded | None] = asyncio.Queue()
    forever = asyncio.ensure_future(asyncio.sleep(3600))
    writes: dict[asyncio.Task[None], list[Embedded]] = {forever: []}
    following = asyncio.ensure_future(anext(writing.groups(queue, writes)))
    for n in range(writing.GROUP_DOCUMENTS):
        queue.put_nowait(waiting(str(n)))
    await asyncio.sleep(0.05)
    assert not following.done()
    queue.put_nowait(waiting("one more"))
    group = await asyncio.wait_for(following, 5)
    assert [e.prepared.item.external_id for e in group] == [str(n) for n in range(writing.GROUP_DOCUMENTS)]
    forever.cancel()


async def test_where_the_other_write_ends_what_is_there_is_written() -> None:
    queue: asyncio.Queue[Embedded | None] = asyncio.Queue()
    ended = asyncio.Event()
    other = asyncio.ensure_future(ended.wait())
    writes: dict[Any, list[Embedded]] = {other: []}
    other.add_done_callback(writes.pop)
    groups = writing.groups(queue, writes)
    following = asyncio.ensure_future(anext(groups))
    queue.put_nowait(waiting("a"))
    await asyncio.sleep(0.05)
    assert not following.done()
    ended.set()
    assert [e.prepared.item.external_id for e in await asyncio.wait_for(following, 5)] == ["a"]
    queue.put_nowait(waiting("b"))  # nothing was taken from the queue and lost
    queue.put_nowait(None)
    assert [[e.prepared.item.external_id for e in group] async for group in groups] == [["b"]]


def test_no_group_is_written_beside_another_version_or_what_declares() -> None:
    a, b, c = waiting("a"), waiting("b"), waiting("c")
    declares = waiting("d", supersedes="a")
    assert writing.may_join([declares], [])
    assert writing.may_join([b], [[a]])
    assert not writing.may_join([b, a], [[a, c]])
    assert not writing.may_join([declares], [[b]])
    assert not writing.may_join([b], [[declares]])
    assert not writing.may_join([c], [[a], [b]])


async def test_full_groups_are_written_side_by_side(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "GROUP_DOCUMENTS", 4)
    most, running, written = 0, 0, Ingest._write_group

    async def write(self: Ingest, group: Sequence[Embedded]) -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        await written(self, group)
        running -= 1

    monkeypatch.setattr(Ingest, "_write_group", write)
    async with await databases.open_engine(database, HashingEmbedder()) as engine:
        report = await put(engine, *(record(f"d{n}", f"Text {n}.") for n in range(40)))
    assert (report.new, most) == (40, writing.WRITERS)
