from __future__ import annotations

import numpy as np
import pytest
from answer_evidence import document, embed, hit, hits_of, key, vector
from hypothesis import given
from hypothesis import strategies as st

from veraz.answer.select import Mix, Selection, choose, select, shortlist
from veraz.answer.sentences import candidates
from veraz.demo import CORPUS
from veraz.nouns.evidence import DocumentRef

BURNS = """# Burns

Burns come from dry heat. The first minutes decide how deep the damage goes.

## Cool the burn

Cool a burn under running water for 20 minutes. Do not use ice, which harms the skin further.
Is it deep? See also: Scalds.

## Side effects

Redness and swelling are common in the first days. They pass without treatment.

## When to go to hospital

Go to hospital with a burn that has one of these signs:

- It is larger than your hand.
- It was caused by electricity.

| Depth | Healing time | Scar |
|---|---|---|
| Superficial | 7 days | no |
| Deep | 21 days | often |
"""


def ask(question: str, *sources: tuple[DocumentRef, str], **options: object) -> Selection:
    hits = [h for ref, text in sources for h in hits_of(ref, text)]
    texts = {key(ref): text for ref, text in sources}
    return select(question, hits, texts, embed, vector(question), lang="en", **options)  # type: ignore[arg-type]


def burns() -> tuple[DocumentRef, str]:
    return document("burns.md", "Burns"), BURNS


def test_the_answer_is_a_verbatim_sentence_with_its_place() -> None:
    found = ask("How long should a burn be cooled under running water?", burns())
    assert found.claims[0].text == "Cool a burn under running water for 20 minutes."
    assert found.claims[0].citations == (1,)
    (citation, *_) = found.citations
    assert BURNS[citation.start : citation.end] == citation.quote == found.claims[0].text
    assert citation.heading_path == ("Burns", "Cool the burn")
    assert citation.external_id == "burns.md"


def test_what_is_no_answer_is_no_candidate() -> None:
    ref, text = burns()
    shown = [c.shown for c in candidates(hits_of(ref, text), {key(ref): text})]
    assert not [
        s for s in shown if s.startswith("#") or s.endswith("?") or "See also" in s or set(s) <= set("|- ")
    ]
    assert not [s for s in shown if s.startswith("Depth: Depth")]


def test_a_question_that_lost_its_mark_is_no_candidate() -> None:
    ref = document("l", "Lipitor")
    text = (
        "How do I store LIPITOR\n\nStore LIPITOR at room temperature.\n\nWhen is it too late is not known.\n\n"
        "When should you call a doctor:\n\n- at 39 °C\n- with a rash"
    )
    assert [c.shown for c in candidates(hits_of(ref, text), {key(ref): text})] == [
        "Store LIPITOR at room temperature.",
        "When is it too late is not known.",
        "When should you call a doctor: - at 39 °C - with a rash",
    ]


def test_a_heading_supplies_the_topic_of_its_sentences() -> None:
    found = ask("What are the side effects of burns?", burns())
    assert found.claims[0].text == "Redness and swelling are common in the first days."


def test_a_sentence_that_points_back_brings_its_predecessor() -> None:
    ref, text = burns()
    (pair,) = [c for c in candidates(hits_of(ref, text), {key(ref): text}) if "They pass" in c.shown]
    assert pair.quote == "Redness and swelling are common in the first days. They pass without treatment."
    assert text[pair.start : pair.end] == pair.quote


def test_a_lead_in_brings_its_list() -> None:
    found = ask("Which burn signs need a hospital?", burns())
    claim = found.claims[0]
    assert claim.text.startswith("Go to hospital with a burn that has one of these signs:")
    assert claim.text.endswith("It was caused by electricity.")
    assert found.citations[0].quote in BURNS


def test_a_table_row_is_shown_with_its_header_and_quoted_alone() -> None:
    found = ask("What is the healing time of a deep burn?", burns())
    claim = next(c for c in found.claims if "21 days" in c.text)
    assert claim.text == "Depth: Deep; Healing time: 21 days; Scar: often"
    assert found.citations[claim.citations[0] - 1].quote == "| Deep | 21 days | often |"


def test_a_row_whose_range_holds_the_number_is_preferred() -> None:
    table = "# Dose\n\n## By eGFR\n\n| eGFR | Dose |\n|---|---|\n| 60 or more | 3000 mg |\n| 30 to 44 | 1000 mg |\n"
    found = ask("Which dose for an eGFR of 40?", (document("m.md", "Metformin dose"), table))
    assert found.claims[0].text == "eGFR: 30 to 44; Dose: 1000 mg"


def test_a_row_that_names_another_item_is_no_answer() -> None:
    head = "# Doses\n\n## Table\n\n| Drug | Adult | Child |\n|---|---|---|\n"
    table = head + "| Zen-23 | 235 mg | 47 mg |\n| Zen-47 | 475 mg | 95 mg |\n"
    found = ask("What is the child dose of Zen-47?", (document("t.md", "Doses"), table))
    assert [c.text for c in found.claims] == ["Drug: Zen-47; Adult: 475 mg; Child: 95 mg"]


def test_the_same_words_in_a_second_document_confirm_the_claim() -> None:
    other = document("copy.md", "First aid")
    text = "# First aid\n\n## Burns\n\nCool a burn under running water for 20 minutes.\n"
    found = ask("How long should a burn be cooled under running water?", burns(), (other, text))
    (claim,) = [c for c in found.claims if "20 minutes" in c.text]
    assert len(claim.citations) == 2
    assert {found.citations[n - 1].external_id for n in claim.citations} == {"burns.md", "copy.md"}


def test_another_number_is_another_claim() -> None:
    other = document("other.md", "First aid")
    text = "# First aid\n\n## Burns\n\nCool a burn under running water for 10 minutes.\n"
    found = ask("How long should a burn be cooled under running water?", burns(), (other, text))
    assert {c.text for c in found.claims} >= {
        "Cool a burn under running water for 20 minutes.",
        "Cool a burn under running water for 10 minutes.",
    }


def test_limits_hold_and_citations_are_numbered_in_reading_order() -> None:
    sources = [
        (
            document(f"d{n}.md", f"Burn guide {n}"),
            f"# Burn guide {n}\n\n## Water\n\nUse running water on burns {n * 7}.\n",
        )
        for n in range(1, 8)
    ]
    found = ask("running water on burns", *sources, mix=Mix(floor=1.0, max_sentences=4, max_documents=2))
    assert len(found.claims) <= 4
    assert len({c.external_id for c in found.citations}) <= 2
    assert [n for claim in found.claims for n in claim.citations] == list(range(1, len(found.citations) + 1))


def test_the_embedder_is_called_once_with_a_bounded_batch() -> None:
    calls: list[int] = []

    def counting(texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        return embed(texts)

    text = "# Long\n\n" + " ".join(f"Water number {n} cools the burn a little." for n in range(100))
    ref = document("long.md", "Long")
    select(
        "Does water cool a burn?",
        hits_of(ref, text),
        {key(ref): text},
        counting,
        vector("water burn"),
        lang="en",
    )
    assert calls == [48]


def test_no_hits_give_no_claims_and_no_embedding() -> None:
    def never(texts: list[str]) -> np.ndarray:
        raise AssertionError(texts)

    assert select("anything", [], {}, never, vector("anything")) == Selection((), (), ())


def test_a_hit_whose_text_is_missing_is_skipped() -> None:
    ref, text = burns()
    assert shortlist("burn", hits_of(ref, text), {}) == []


def test_overlapping_hits_do_not_repeat_a_sentence() -> None:
    ref, text = burns()
    start, end = text.index("Cool a burn"), text.index("Is it deep")
    twice = [hit(ref, text, start, end, "A", 1), hit(ref, text, start, end, "A", 2)]
    spans = [(c.start, c.end) for c in candidates(twice, {key(ref): text})]
    assert len(spans) == len(set(spans)) == 2


def test_scores_depend_on_differences_of_cosines_only() -> None:
    ref, text = burns()
    picked = shortlist("cool burn water", hits_of(ref, text), {key(ref): text}, lang="en")
    vectors, query = embed([c.embedded for c in picked]), vector("cool burn water")
    shifted = np.hstack([vectors, np.full((len(vectors), 1), 5.0, np.float32)])
    plain = choose("cool burn water", picked, vectors, query)
    moved = choose("cool burn water", picked, shifted, np.append(query, 1.0).astype(np.float32))
    assert [c.text for c in plain.claims] == [c.text for c in moved.claims]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.md")), ids=lambda p: p.name)
def test_every_candidate_of_the_demonstration_quotes_its_text(path: object) -> None:
    from pathlib import Path

    assert isinstance(path, Path)
    text = path.read_text("utf-8").split("---\n", 2)[2]
    ref = document(path.name, path.stem, lang=path.read_text("utf-8").split("lang: ")[1][:2])
    found = candidates(hits_of(ref, text), {key(ref): text})
    assert len(found) >= 15
    for candidate in found:
        assert text[candidate.start : candidate.end] == candidate.quote
        assert "Demonstration text" not in candidate.shown


@given(st.text(alphabet="ab .:?\n-|#*1A", max_size=120))
def test_any_text_gives_quotable_spans(text: str) -> None:
    ref = document("x.md", "X")
    for candidate in candidates([hit(ref, text, 0, len(text), "H", 1)], {key(ref): text}):
        assert text[candidate.start : candidate.end] == candidate.quote
        assert candidate.quote.strip()
