"""Public case H38. H34 and H35 are in test_runtime_role.py, H36 and H37 in test_tenant_isolation.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from veraz.engine import AsyncVeraz
from veraz.nouns.answer import Answer
from veraz.nouns.question import Filters

QUESTION = "What is the notice period?"


async def test_an_answer_is_never_taken_from_what_was_asked_with_other_rights(
    eager_engine: AsyncVeraz, cases: Path
) -> None:
    """The same question by department, with both, with neither, and after the file is gone; asked again and again in between."""
    for dept in ("hr", "legal"):
        await eager_engine.ingest(
            cases / f"h_dept_{dept}.md", source="handbook", acl=[f"dept:{dept}"], lang="en"
        )
    names = {
        d: (await _as(eager_engine, d).search("notice period")).hits[0].document.external_id
        for d in ("hr", "legal")
    }
    assert len(set(names.values())) == 2

    async def cited(*departments: str) -> set[str]:
        answer = await _as(eager_engine, *departments).ask(QUESTION, lang="en")
        assert (answer.outcome == "insufficient") is (_sources(answer) == set())
        assert ("4 weeks" in answer.answer, "90 days" in answer.answer) == tuple(
            names[d] in _sources(answer) for d in ("hr", "legal")
        )
        return _sources(answer)

    for _ in range(3):
        assert await cited("hr") == {names["hr"]}
        assert await cited("legal") == {names["legal"]}
        assert await cited("hr", "legal") == set(names.values())
        assert await cited() == set()
    assert await eager_engine.delete(names["hr"], source="handbook")
    assert await cited("hr") == set()
    assert await cited("hr", "legal") == {names["legal"]}
    assert (await _as(eager_engine, "hr").search(QUESTION, lang="en")).hits == ()


async def test_an_answer_is_never_taken_from_what_was_asked_with_other_filters(
    eager_engine: AsyncVeraz, cases: Path
) -> None:
    """The same question in the same tenant, by what the files state of themselves."""
    for dept in ("hr", "legal"):
        await eager_engine.ingest(cases / f"h_dept_{dept}.md", source="handbook", lang="en")

    async def cited(where: str | None) -> set[str]:
        filters = Filters(where=where) if where else Filters()
        return _sources(await eager_engine.ask(QUESTION, lang="en", filters=filters))

    hr, legal = "meta.dept = 'HR'", "meta.dept = 'Legal'"
    for _ in range(2):
        assert await cited(hr) == {"h_dept_hr.md"}
        assert await cited(legal) == {"h_dept_legal.md"}
        assert await cited(None) == {"h_dept_hr.md", "h_dept_legal.md"}
    assert await eager_engine.delete("h_dept_hr.md", source="handbook")
    refused = await eager_engine.ask(QUESTION, lang="en", filters=Filters(where=hr))
    assert (refused.outcome, refused.citations) == ("insufficient", ())
    assert await cited(None) == {"h_dept_legal.md"}


def _as(engine: AsyncVeraz, *departments: str) -> AsyncVeraz:
    assert engine._identity is not None
    return engine.acting_as(replace(engine._identity, roles=("public", *(f"dept:{d}" for d in departments))))


def _sources(answer: Answer) -> set[str]:
    return {c.external_id for c in answer.citations}
