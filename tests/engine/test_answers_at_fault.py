"""A model that does not take a sentence, or the question; a trace that cannot be stored."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from psycopg.errors import DiskFull
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder

from veraz.config import AnswerConfig
from veraz.engine import AsyncVeraz, questions
from veraz.errors import MalformedResponse
from veraz.nouns.corpus import EmbeddingBatch, TextKind

TEXT = (
    "Zinc tablets are taken with food. Zinc tablets are stored in a dry place, says the unreadable leaflet."
)


class Picky(HashingEmbedder):
    """Takes no text that holds `hated` and is of this kind."""

    def __init__(self, hated: str, kind: TextKind) -> None:
        super().__init__()
        self.hated, self.kind, self.on = hated, kind, False

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        if self.on and kind == self.kind and any(self.hated in text for text in texts):
            raise MalformedResponse("the vector has no direction")
        return await super().embed(texts, kind)


async def asking(database: str, embedder: Picky) -> AsyncVeraz:
    engine = await databases.open_engine(database, embedder, answer=AnswerConfig(threshold=0))
    await put(engine, record("leaflet", TEXT))
    embedder.on = True
    return engine


async def test_a_sentence_that_the_model_does_not_take_costs_itself_alone(database: str) -> None:
    async with await asking(database, Picky("unreadable", "passage")) as engine:
        answer = await engine.ask("How are zinc tablets taken?", lang="en")
    assert answer.outcome == "answered"
    assert [c.quote for c in answer.citations] == ["Zinc tablets are taken with food."]


async def test_where_the_model_takes_no_sentence_the_answer_says_so(database: str) -> None:
    async with await asking(database, Picky("tablets", "passage")) as engine:
        answer = await engine.ask("How are zinc tablets taken?", lang="en")
    assert (answer.outcome, answer.citations) == ("insufficient", ())
    assert "cannot compare this question" in (answer.reason or "")


async def test_a_question_that_the_model_does_not_take_is_no_improbable_one(database: str) -> None:
    async with await asking(database, Picky("tablets", "query")) as engine:
        answer = await engine.ask("How are zinc tablets taken?", lang="en")
    assert answer.outcome == "insufficient"
    assert "cannot compare this question" in (answer.reason or "")


@pytest.fixture
async def without_disk(engine: AsyncVeraz, monkeypatch: pytest.MonkeyPatch) -> AsyncVeraz:
    async def full(*_: object) -> None:
        raise DiskFull("could not extend file: No space left on device")

    monkeypatch.setattr(questions.traces, "insert", full)
    return engine


async def test_an_emergency_is_answered_where_no_trace_can_be_stored(without_disk: AsyncVeraz) -> None:
    answer = await without_disk.ask("I have crushing chest pain", lang="en")
    assert answer.outcome == "routed"
    assert answer.answer
    assert any("no trace" in note for note in answer.notes)
