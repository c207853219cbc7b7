"""A side of a conflict stands for what it cites, as a claim does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.corpus import put, record

from veraz.answer import conflict
from veraz.engine import AsyncVeraz

TEXT = "The largest daily dose of metformin is {} mg."


def with_sides(change: Callable[[str], str]) -> Callable[..., Any]:
    found = conflict.disagreements

    def disagreements(*given: Any, **named: Any) -> Any:
        disputes, citations = found(*given, **named)
        altered = [
            replace(d, sides=(replace(d.sides[0], text=change(d.sides[0].text)), *d.sides[1:]))
            for d in disputes
        ]
        return tuple(altered), citations

    return disagreements


async def test_a_side_that_says_more_than_its_source_is_no_side(
    eager_engine: AsyncVeraz, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(eager_engine, record("a", TEXT.format(2000)), record("b", TEXT.format(3000)))
    question = "What is the largest daily dose of metformin?"
    assert (await eager_engine.ask(question, lang="en")).outcome == "conflicting"
    monkeypatch.setattr(
        conflict, "disagreements", with_sides(lambda text: text.replace("mg", "mg twice in 7 days"))
    )
    answer = await eager_engine.ask(question, lang="en")
    assert (answer.outcome, answer.conflicts) == ("answered", ())
    assert "7 days" not in answer.answer
    assert [d.why for d in answer.dropped if "7 days" in d.text] == ["the source does not have the number 7"]
    assert {n for c in answer.claims for n in c.citations} == {c.n for c in answer.citations}
