"""Questions that one cell of a table answers: its own column, quoted as the row stands in the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from answer_evidence import document, embed, hit, key, vector
from tests.support.chunking import chunk_document

from veraz.answer.select import Selection, citation, select
from veraz.answer.sentences import candidates
from veraz.answer.validate import validate
from veraz.nouns.answer import Claim
from veraz.nouns.corpus import RawItem
from veraz.providers.parsers import parser_for


def answer(question: str, text: str, limit: int = 448) -> Selection:
    """The claims that stand, from all chunks of the text, in which a chunk that names the subject is first."""
    doc = parser_for(RawItem("t.md", "t", "markdown", payload=text.encode())).parse(
        RawItem("t.md", "t", "markdown", payload=text.encode())
    )
    chunks = chunk_document(
        doc,
        source_name="demo",
        limit=limit,
        count_tokens=lambda texts: [4 + len(t) // 4 for t in texts],
        lang="en",
    )
    subject = question.rstrip("?").split()[-1]
    chunks = tuple(sorted(chunks, key=lambda chunk: subject not in chunk.body))
    ref = document("t", doc.title)
    spans = [chunk.spans[0] for chunk in chunks]
    hits = [hit(ref, doc.text, s.start, s.end, doc.title, rank) for rank, s in enumerate(spans, 1)]
    found = select(question, hits, {key(ref): doc.text}, embed, vector(question), lang="en")
    checked = validate(found.claims, found.citations, {key(ref): doc.text})
    assert not checked.dropped
    for cited in found.citations:
        assert cited.quote == doc.text[cited.start : cited.end]
        chosen = next(h for h in hits if h.chunk_id == cited.chunk_id)
        assert chosen.start <= cited.start < cited.end <= chosen.end
    return found


@pytest.mark.parametrize("limit", [60, 120, 448])
def test_the_child_is_given_the_dose_of_a_child(cases: Path, limit: int) -> None:
    found = answer("What is the child dose of Zentrapril-47?", (cases / "h_table.md").read_text(), limit)
    assert [c.text for c in found.claims] == [
        "Drug: Zentrapril-47; Child dose: 95 mg; Renal adjustment: none"
    ]
    (cited,) = found.citations
    assert cited.quote == "| Zentrapril-47 | 475 mg | 95 mg | none |"


@pytest.mark.parametrize("limit", [60, 100, 448])
def test_a_figure_is_taken_from_its_year_and_quarter(cases: Path, limit: int) -> None:
    found = answer("What was 2023 Q3 net for Unit-31?", (cases / "h_wide_table.md").read_text(), limit)
    assert found.claims[0].text == "Unit: Unit-31; 2023 Q3 net: 5,120 (audited, rounded to whole units)"
    assert "5,120 (audited, rounded to whole units)" in found.citations[0].quote


_GROUPED = """# Doses

| Kidney function | Dose |
|---|---|
| Children | |
| normal | 5 mg. Take it with food. |
| impaired | 2 mg |
| Adults | |
| normal | 50 mg |
| impaired | 20 mg |
"""


def test_a_row_is_read_with_the_name_of_its_group() -> None:
    found = answer("What is the dose for children with normal kidney function?", _GROUPED)
    assert found.claims[0].text == "Children; Kidney function: normal; Dose: 5 mg. Take it with food."
    assert found.citations[0].quote == "| normal | 5 mg. Take it with food. |"


def test_a_question_that_names_no_column_gets_all() -> None:
    text = "# D\n\n| Drug | Adult dose | Child dose |\n|---|---|---|\n| Zen-5 | 10 mg | 2 mg |\n| Zen-6 | 12 mg | 3 mg |\n"
    assert (
        answer("What is the dose of Zen-5?", text).claims[0].text
        == "Drug: Zen-5; Adult dose: 10 mg; Child dose: 2 mg"
    )


def test_whom_a_row_is_about_is_not_left_out() -> None:
    text = "| Drug | Dose | For |\n|---|---|---|\n| Zen-5 | 10 mg | children |\n"
    row = "| Zen-5 | 10 mg | children |"
    ref = document("t", "T")
    place = candidates([hit(ref, text, 0, len(text), "T", 1)], {key(ref): text})[0]
    assert place.quote == row
    cited = (citation(1, place),)
    kept = validate([Claim("Drug: Zen-5; Dose: 10 mg; For: children", (1,), 1.0)], cited, {key(ref): text})
    assert not kept.dropped
    short = validate([Claim("Drug: Zen-5; Dose: 10 mg", (1,), 1.0)], cited, {key(ref): text})
    assert "child" in short.dropped[0].why
