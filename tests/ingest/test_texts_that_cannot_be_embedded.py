"""One text that the model cannot embed costs its document alone, wherever in a run it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.errors import MalformedResponse, UnavailableError
from veraz.ingest import pipeline
from veraz.nouns.corpus import EmbeddingBatch, TextKind


class Picky(HashingEmbedder):
    """Gives no vector for a text that says "unembeddable"; none at all once `left` calls were answered."""

    def __init__(self, left: int | None = None, error: type[Exception] = MalformedResponse) -> None:
        super().__init__()
        self.left = left
        self.error = error

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        if any("unembeddable" in text for text in texts):
            raise MalformedResponse("the vector is not finite")
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise self.error("the answer has no vectors")
        return await super().embed(texts, kind)


GOOD = [record(f"d{i}", f"Paragraph number{i} is about topic{i}.") for i in range(pipeline.WINDOW_CHUNKS)]
BAD = record("bad", "This is unembeddable.")


async def opened(database: str, embedder: HashingEmbedder) -> AsyncVeraz:
    return await databases.open_engine(database, embedder)


@pytest.mark.parametrize("records", [[*GOOD, BAD], [BAD, *GOOD], [BAD]], ids=["last", "first", "alone"])
async def test_the_document_fails_and_the_others_are_kept(
    database: str, records: list[dict[str, Any]]
) -> None:
    async with await opened(database, Picky()) as engine:
        report = await put(engine, *records, clean=False)
        assert (report.new, report.failed) == (len(records) - 1, 1)
        assert (report.errors[0].external_id, report.errors[0].stage) == ("bad", "embed")
        again = await put(engine, *records, clean=False)
        assert (again.unchanged, again.failed) == (len(records) - 1, 1)


@pytest.mark.parametrize("error", [MalformedResponse, UnavailableError])
async def test_what_was_embedded_is_written_before_a_run_ends(database: str, error: type[Exception]) -> None:
    """Two windows are embedded; then the provider is gone."""
    more = [record(f"e{i}", f"Another paragraph {i} on subject{i}.") for i in range(3)]
    many = [record(f"f{i}", f"A third paragraph {i} on theme{i}.") for i in range(pipeline.WINDOW_CHUNKS)]
    async with await opened(database, Picky(2, error)) as engine:
        if error is MalformedResponse:  # it answered before: the documents are named, one by one
            report = await put(engine, *GOOD, *many, *more, clean=False)
            assert (report.new, report.failed) == (2 * pipeline.WINDOW_CHUNKS, 3)
        else:
            with pytest.raises(UnavailableError):
                await put(engine, *GOOD, *many, *more)
        assert await rows(engine, "select count(*) from veraz.document") == [(2 * pipeline.WINDOW_CHUNKS,)]


async def test_a_provider_that_embeds_nothing_is_to_blame(database: str) -> None:
    async with await opened(database, Picky(0)) as engine:
        with pytest.raises(MalformedResponse):
            await put(engine, *GOOD[:1])


async def test_a_file_that_is_read_again_may_be_impossible_to_embed(
    database: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another ingest publishes a file meanwhile; what stands in it by then is embedded and counted, or fails by itself."""
    file = tmp_path / "guide.txt"
    started = pipeline.Ingest._write_group

    for text, failed, embedded in (("This is unembeddable.", 1, 0), ("Quite another text.", 0, 1)):
        file.write_text(f"First text before {text}")
        overtaken = False

        async def write(run: pipeline.Ingest, ready: Any, text: str = text) -> None:
            nonlocal overtaken
            if not overtaken:
                overtaken = True
                async with await opened(database, HashingEmbedder()) as other:
                    file.write_text("Published by another.")
                    await other.ingest([str(file)], source="s", lang="en")
                file.write_text(text)
                run._embedding._vectors.clear()  # as after many windows
            await started(run, ready)

        monkeypatch.setattr(pipeline.Ingest, "_write_group", write)
        async with await opened(database, Picky()) as engine:
            file.write_text("Good text that is overtaken.")
            report = await engine.ingest([str(file)], source="s", lang="en")
            assert (report.failed, report.embedded) == (failed, embedded), report
            assert not report.errors or report.errors[0].stage == "embed"
