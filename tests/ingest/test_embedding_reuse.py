"""What is embedded again and what is not: unchanged documents, equal texts, changed headings and dates."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.errors import MalformedResponse
from veraz.nouns.corpus import EmbeddingBatch, TextKind

TWO_SECTIONS = "## Dose\n\nTake two tablets a day.\n\n## Storage\n\nKeep below 25 °C."


def leaflet(**changes: Any) -> dict[str, Any]:
    return record("leaflet", **{"text": TWO_SECTIONS, "format": "markdown", "date": "2024-01-01", **changes})


async def test_an_unchanged_document_costs_nothing(engine: AsyncVeraz, embedder: HashingEmbedder) -> None:
    first = await put(engine, leaflet(), record("b", "Another text."))
    calls = len(embedder.calls)
    before = await rows(engine, "select xmin::text, ctid::text from veraz.document order by 2")
    again = await put(engine, leaflet(), record("b", "Another text."))
    assert (first.new, first.documents, first.embedded) == (2, 2, 3)
    assert (again.unchanged, again.new, again.changed, again.documents, again.embedded) == (2, 0, 0, 0, 0)
    assert len(embedder.calls) == calls
    assert await rows(engine, "select xmin::text, ctid::text from veraz.document order by 2") == before


async def test_equal_texts_share_one_call(engine: AsyncVeraz, embedder: HashingEmbedder) -> None:
    twins = [record(name, "Never look into the beam.", title="Laser") for name in ("a", "b", "c")]
    report = await put(engine, *twins)
    assert (report.chunks, report.embedded, report.reused) == (3, 1, 2)
    assert len(embedder.texts) == len(set(embedder.texts)) == 1
    assert await rows(engine, "select count(*), count(distinct vec::text) from veraz.embedding_1") == [(3, 1)]


async def test_equal_texts_are_not_embedded_by_a_later_run_either(database: str, engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Never look into the beam.", title="Laser"))
    later = HashingEmbedder()
    async with await databases.open_engine(database, later) as second:
        report = await put(second, record("b", "Never look into the beam.", title="Laser"))
    assert (report.chunks, report.embedded, report.reused) == (1, 0, 1)
    assert later.calls == []
    assert await rows(engine, "select count(distinct vec::text) from veraz.embedding_1") == [(1,)]


async def test_a_changed_heading_embeds_its_section_again(
    engine: AsyncVeraz, embedder: HashingEmbedder
) -> None:
    await put(engine, leaflet())
    embedder.calls.clear()
    report = await put(engine, leaflet(text=TWO_SECTIONS.replace("## Storage", "## How to store")))
    assert (report.changed, report.chunks, report.embedded, report.reused) == (1, 2, 1, 1)
    assert ["How to store" in text for text in embedder.texts] == [True]


@pytest.mark.parametrize(
    "change", [{"date": "2025-02-02"}, {"url": "https://example.org/x"}, {"license": "CC0"}]
)
async def test_a_changed_date_embeds_nothing(
    engine: AsyncVeraz, embedder: HashingEmbedder, change: dict[str, str]
) -> None:
    await put(engine, leaflet())
    embedder.calls.clear()
    report = await put(engine, leaflet(**change))
    assert (report.changed, report.documents, report.embedded, report.reused) == (1, 1, 0, 2)
    assert embedder.calls == []
    assert len((await engine.show("leaflet")).revisions) == 2


async def test_every_vector_is_the_vector_of_its_own_text(engine: AsyncVeraz) -> None:
    await put(engine, leaflet(), *(record(f"r{i}", f"Text number {i} about topic{i}.") for i in range(20)))
    assert await own_vectors(engine) == 22


async def own_vectors(engine: AsyncVeraz) -> int:
    """How many chunks there are, of any revision. Each must have the vector and the content hash of its own text."""
    stored = await rows(
        engine,
        "select concat_ws(E'\\n\\n', nullif(header, ''), display), content_hash, vec::real[]"
        " from veraz.chunk left join veraz.embedding_1 using (tenant_id, chunk_id)",
    )
    own = HashingEmbedder()
    for text, content_hash, vector in stored:
        assert content_hash == hashlib.sha256(text.encode()).digest()
        np.testing.assert_allclose(vector, own.vector(text), atol=2e-3)
    return len(stored)


PARTS = 30


@pytest.mark.parametrize("kind", ["file", "record"])
async def test_texts_of_one_id_that_are_ingested_at_once_have_each_its_own_vectors(
    database: str, tmp_path: Path, kind: str
) -> None:
    """The slower ones start over, and take vectors that a run has kept: they must be those of the text that is then stored."""
    engines = [await databases.open_engine(database) for _ in range(8)]

    async def ingest(number: int, engine: AsyncVeraz) -> None:
        text = "\n\n".join(
            f"## Part {part}\n\nEdition{number} says word{number * PARTS + part}." for part in range(PARTS)
        )
        if kind == "record":
            await put(engine, record("plan.md", text, format="markdown"), clean=False)
            return
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "plan.md").write_text(text)
        report = await engine.ingest(folder, source="s", lang="en")
        assert report.errors == ()

    try:
        await asyncio.gather(*(ingest(n, engine) for n, engine in enumerate(engines)))
        assert await rows(engines[0], "select external_id from veraz.document") == [("plan.md",)]
        (revisions,) = (await rows(engines[0], "select count(*) from veraz.revision"))[0]
        assert await own_vectors(engines[0]) == revisions * PARTS
        assert revisions == 8 or kind == "record"
        current = await rows(
            engines[0],
            "select count(*), count(distinct substring(body from 'Edition[0-9]')) from veraz.chunk where is_current",
        )
        assert current == [(PARTS, 1)]
    finally:
        for engine in engines:
            await engine.close()


# H02


def zero_for(word: str) -> HashingEmbedder:
    return HashingEmbedder(place=lambda text: np.zeros(384, np.float32) if word in text else None)


async def test_a_zero_vector_fails_its_document_and_keeps_the_others(database: str) -> None:
    async with await databases.open_engine(database, zero_for("BLANKVEC")) as engine:
        report = await put(
            engine,
            record("a", "A normal text."),
            record("zero", "BLANKVEC text."),
            record("b", "One more normal text."),
            clean=False,
        )
        assert [(e.external_id, e.stage) for e in report.errors] == [("zero", "store")]
        assert (report.failed, report.documents) == (1, 2)
        found = await engine.search("text", lang="en", k=50)
        assert {h.document.external_id for h in found.hits} == {"a", "b"}
        assert await rows(engine, "select count(*) from veraz.document where external_id = 'zero'") == [(0,)]


async def test_a_question_whose_vector_is_zero_is_answered_by_the_lexical_arm(database: str) -> None:
    async with await databases.open_engine(database, zero_for("BLANKVEC")) as engine:
        await put(engine, record("a", "A normal text."), record("b", "Nothing of the kind."))
        found = await engine.search("BLANKVEC normal text", lang="en", k=50)
        assert [h.document.external_id for h in found.hits] == ["a"]
        assert all(np.isfinite(h.score) for h in found.hits)
        assert all(h.semantic is None for h in found.hits)
        assert any("could not be embedded" in note for note in found.notes)
        assert (await engine.search("BLANKVEC normal text", lang="en", mode="semantic")).hits == ()


class Choosy(HashingEmbedder):
    """Refuses a whole batch that holds the word, as an adapter does with an answer that does not pair."""

    async def embed(self, texts: Any, kind: TextKind) -> EmbeddingBatch:
        if any("REFUSED" in text for text in texts):
            raise MalformedResponse("the answer has 3 vectors for 4 texts")
        return await super().embed(texts, kind)


async def test_an_answer_that_does_not_pair_costs_only_its_document(database: str) -> None:
    async with await databases.open_engine(database, Choosy()) as engine:
        documents = [record(f"d{i}", f"Text {i}.") for i in range(10)]
        report = await put(engine, *documents, record("bad", "REFUSED text."), clean=False)
        assert [(e.external_id, e.stage, e.reason) for e in report.errors] == [
            ("bad", "embed", "the answer has 3 vectors for 4 texts")
        ]
        assert report.documents == 10
