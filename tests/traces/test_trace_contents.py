"""What a trace keeps and what it never holds; what `explain_trace` shows later, when documents have changed or gone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.answer import Answer

SECRETS = ("eleven", "Cockcroft", "Kidney handbook", "Dosing")
"""Of the text, the title and the headings. External ids and the question are kept."""
TEXT = "## Dosing\n\nStop metformin below an eGFR of eleven.\n\nUse the Cockcroft equation for the kidney. It changes often."


@pytest.fixture
async def asked(eager_engine: AsyncVeraz) -> Answer:
    await put(eager_engine, record("kidney", TEXT, title="Kidney handbook", format="markdown"))
    answer = await eager_engine.ask("Below which eGFR should metformin stop?", lang="en")
    assert answer.citations
    return answer


async def stored(engine: AsyncVeraz) -> list[str]:
    return [json.dumps(r[0]) for r in await rows(engine, "select record from veraz.trace")]


@pytest.mark.usefixtures("asked")
async def test_a_trace_holds_no_text_of_documents(engine: AsyncVeraz) -> None:
    await engine.search("Which equation?", lang="en", explain=True)
    for row in await stored(engine):
        assert [secret for secret in SECRETS if secret.lower() in row.lower()] == [], row[:3000]
    assert len(await stored(engine)) == 2


async def test_a_trace_is_found_by_the_beginning_of_its_id(engine: AsyncVeraz, asked: Answer) -> None:
    found = await engine.trace(str(asked.trace_id)[:8])
    assert (found.trace_id, found.kind, found.outcome) == (asked.trace_id, "ask", asked.outcome)
    for wrong in ("", "zz", "%", "ffffffff-ffff", "'; drop table veraz.trace; --"):
        with pytest.raises(UsageError, match=r"no trace|several traces"):
            await engine.trace(wrong)


async def test_the_explanation_quotes_what_the_answer_quoted(engine: AsyncVeraz, asked: Answer) -> None:
    shown = await engine.explain_trace(str(asked.trace_id))
    assert [c["quote"] for c in shown["citations"]] == [c.quote for c in asked.citations]
    assert all(c["available"] for c in shown["citations"])
    assert [c["heading_path"] for c in shown["citations"]] == [list(c.heading_path) for c in asked.citations]
    assert shown["question"] == asked.question
    assert shown["access"] == {"tenant": "default", "roles": ["public"]}


async def test_after_a_new_revision_the_explanation_still_quotes_the_old_one(
    engine: AsyncVeraz, asked: Answer
) -> None:
    changed = TEXT.replace(
        "Stop metformin below an eGFR of eleven.", "Something else stands here now, and longer."
    )
    await put(engine, record("kidney", changed, title="Kidney handbook", format="markdown"))
    shown = await engine.explain_trace(str(asked.trace_id))
    assert [c["quote"] for c in shown["citations"]] == [c.quote for c in asked.citations]
    assert {c["revision"] for c in shown["citations"]} == {1}


async def test_after_a_deletion_the_explanation_says_that_the_text_is_gone(
    engine: AsyncVeraz, asked: Answer
) -> None:
    await engine.delete("kidney", source="s")
    shown = await engine.explain_trace(str(asked.trace_id))
    assert [(c["quote"], c["available"]) for c in shown["citations"]] == [(None, False)] * len(
        asked.citations
    )
    assert "eleven" not in json.dumps(shown, default=str)


@pytest.mark.parametrize(
    "question", ["My father has crushing chest pain and can't breathe", "How do bicycles work?"]
)
async def test_a_route_and_a_refusal_leave_a_trace_too(engine: AsyncVeraz, question: str) -> None:
    await put(engine, record("kidney", TEXT, format="markdown"))
    answer = await engine.ask(question, lang="en")
    assert answer.outcome in ("routed", "insufficient")
    found = await engine.explain_trace(str(answer.trace_id))
    assert (found["outcome"], found["question"]) == (answer.outcome, question)
    assert bool(found["route"]) is (answer.outcome == "routed")


async def test_a_search_that_is_told_to_leaves_none(engine: AsyncVeraz) -> None:
    await engine.search("a", lang="en", trace=False)
    assert await rows(engine, "select count(*) from veraz.trace") == [(0,)]
    await engine.search("a", lang="en")
    assert await rows(engine, "select count(*) from veraz.trace") == [(1,)]


@pytest.mark.parametrize(
    "question", ["nul \x00 inside", "\\u0000 spelled", 'quotes " and \\ strokes', "lone \ud800 surrogate"]
)
async def test_any_question_is_kept(engine: AsyncVeraz, question: str) -> None:
    await put(engine, record("kidney", TEXT, format="markdown"))
    result: Any = await engine.search(question, lang="en")
    found = await engine.trace(str(result.trace_id))
    assert found.question.split()[0] == question.split()[0]
