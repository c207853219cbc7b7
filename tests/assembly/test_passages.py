"""What a reader of hits is given: cases, with the passages that are right."""

from __future__ import annotations

import pytest
from tests.assembly.shelf import assembled, held, hits, words

from veraz.assembly.assemble import CUT, TOO_SMALL, evidence_of
from veraz.errors import MalformedResponse

LEAFLET = """# Metformin

## Dose

Start with 500 mg once daily. Take it with a meal.

The dose is raised slowly over weeks. Most adults take 2000 mg.

## Kidneys

Stop it when the eGFR falls below 30. Halve the dose below 45.

## Storage

Keep it dry. Keep it from children.
"""


def leaflet(**options: int):  # type: ignore[no-untyped-def]
    """A chunk for each paragraph."""
    return held("leaflet", LEAFLET, limit=24, **options)


def texts(found) -> list[str]:  # type: ignore[no-untyped-def]
    return [passage.text for passage in found.passages]


def test_a_hit_alone_is_its_own_text_under_a_label() -> None:
    of = leaflet()
    found = assembled([(of, of.piece("2000 mg"))])
    [passage] = found.passages
    assert passage.text == "The dose is raised slowly over weeks. Most adults take 2000 mg."
    assert (
        passage.rendered.splitlines()[0]
        == "[1] Leaflet › Metformin › Dose (s/leaflet, revision 2 of 2024-05-01)"
    )
    assert passage.spans == of.piece("2000 mg").spans
    assert (passage.tokens, found.tokens) == (words([passage.rendered])[0],) * 2
    [chunk] = passage.chunks
    assert (chunk.rank, chunk.score, chunk.whole, passage.truncated) == (1, 1.0, True, False)


def test_neighbours_stand_around_it_in_one_passage_each_with_its_place() -> None:
    of = leaflet()
    found = assembled([(of, of.piece("eGFR"))], neighbours=1)
    [passage] = found.passages
    start, end = LEAFLET.index("The dose is raised"), LEAFLET.index("from children.") + len("from children.")
    assert passage.text == of.text[start:end]
    assert [(c.ord, c.rank) for c in passage.chunks] == [(1, None), (2, 1), (3, None)]
    assert [of.text[c.start : c.end] for c in passage.chunks] == [of.said(p.spans) for p in of.pieces[1:]]
    assert passage.heading_path == ("Metformin", "Dose")


def test_neighbours_of_the_same_section_come_before_those_of_others() -> None:
    of = leaflet()
    alone = assembled([(of, of.piece("2000 mg"))]).tokens
    inside = words(["Start with 500 mg once daily. Take it with a meal."])[0]
    found = assembled([(of, of.piece("2000 mg"))], neighbours=1, budget=alone + inside)
    assert texts(found) == [LEAFLET[LEAFLET.index("Start") : LEAFLET.index("2000 mg.") + 8]]


def test_what_was_found_comes_before_what_stands_around_it() -> None:
    of, other = leaflet(), held("other", "Rank two says this much.")
    found = [(of, of.piece("2000 mg")), (other, other.pieces[0])]
    both = assembled(found)
    assert len(both.passages) == 2
    assert assembled(found, neighbours=3, sections=True, budget=both.tokens) == both


def test_a_section_is_given_whole_where_it_fits_and_not_in_part() -> None:
    of = leaflet()
    hit = [(of, of.piece("2000 mg"))]
    whole = assembled(hit, sections=True)
    assert texts(whole) == [LEAFLET[LEAFLET.index("Start") : LEAFLET.index("2000 mg.") + 8]]
    assert assembled(hit, sections=True, budget=whole.tokens) == whole
    assert assembled(hit, sections=True, budget=whole.tokens - 1) == assembled(hit)


def test_hits_side_by_side_are_one_passage_and_others_are_not() -> None:
    of = leaflet()
    found = assembled([(of, of.piece("eGFR")), (of, of.piece("500 mg")), (of, of.piece("2000 mg"))])
    assert texts(found) == [LEAFLET[LEAFLET.index("Start") : LEAFLET.index("below 45.") + 9]]
    assert [(c.ord, c.rank) for c in found.passages[0].chunks] == [(0, 2), (1, 3), (2, 1)]
    apart = assembled([(of, of.piece("eGFR")), (of, of.piece("500 mg"))])
    assert [passage.rank for passage in apart.passages] == [1, 2]


def test_chunks_that_overlap_repeat_nothing() -> None:
    text = " ".join(f"Sentence number {n} says what it says." for n in range(12))
    of = held("o", text, cut="fixed", size=30, overlap=20)
    assert len(of.pieces) > 3
    found = assembled([(of, piece) for piece in of.pieces])
    assert texts(found) == [text]
    assert [c.rank for c in found.passages[0].chunks] == [1 + n for n in range(len(of.pieces))]


def test_a_window_that_ends_inside_a_sentence_is_completed() -> None:
    text = " ".join(f"Sentence number {n} says what it says." for n in range(12))
    of = held("o", text, cut="fixed", size=15, overlap=0)
    hit = of.pieces[2]
    assert not of.said(hit.spans).endswith(".")
    [given] = texts(assembled([(of, hit)]))
    assert of.said(hit.spans) in given
    assert given.startswith("Sentence")
    assert given.endswith(".")
    assert len(given) < len(of.said(hit.spans)) + 80


def test_it_is_not_completed_from_a_chunk_that_may_not_be_shown() -> None:
    text = " ".join(f"Sentence number {n} says what it says." for n in range(12))
    of = held("o", text, cut="fixed", size=15, overlap=0)
    hit = of.pieces[2]
    [passage] = assembled([(of, hit)], neighbours=2, sections=True, known=[hit]).passages
    assert passage.text in of.said(hit.spans)
    assert passage.text.startswith("Sentence")
    assert passage.text.endswith(".")
    assert passage.truncated
    assert [c.chunk_id for c in passage.chunks] == [hit.chunk_id]


def test_a_child_is_read_in_its_parent_and_without_it_where_that_does_not_fit() -> None:
    text = "\n\n".join(f"Paragraph {n} is about thing {n}. It says so twice, in {n} words." for n in range(8))
    of = held("p", text, cut="parent-child", size=20, parent=400)
    hit = of.piece("thing 4")
    found = assembled([(of, hit)])
    assert texts(found) == [text]
    assert not found.passages[0].truncated
    small = assembled([(of, hit)], budget=found.tokens - 1)
    assert texts(small) == [of.said(hit.spans)]
    assert small.passages[0].truncated


def test_sentences_with_windows_that_overlap_are_joined() -> None:
    text = " ".join(f"Sentence number {n} says what it says." for n in range(12))
    of = held("w", text, cut="sentence-window", sentences=1)
    found = assembled([(of, of.pieces[3]), (of, of.pieces[5])])
    assert texts(found) == [" ".join(f"Sentence number {n} says what it says." for n in range(2, 7))]


ROWS = [f"| drug {n} | {n}0 mg twice daily. With food. |" for n in range(40)]
TABLE = "\n".join(["| Drug | Dose |", "|---|---|", *ROWS])
WITH_TABLE = f"# Doses\n\nThese are the doses.\n\n{TABLE}\n\nAsk if unsure.\n"


def test_a_part_of_a_table_stands_below_its_header_and_is_completed_where_that_fits() -> None:
    of = held("t", WITH_TABLE, limit=64)
    hit = of.piece("drug 20 ")
    assert "| Drug |" not in of.said(hit.spans)
    whole = assembled([(of, hit)])
    assert texts(whole) == [TABLE]
    [part] = assembled([(of, hit)], budget=whole.tokens - 1).passages
    header = "| Drug | Dose |\n|---|---|\n"
    assert part.text == header + of.said(hit.spans)
    assert [of.text[s.start : s.end] for s in part.spans] == [header, of.said(hit.spans)]
    assert not part.truncated


def test_parts_of_one_table_are_one_passage_with_one_header() -> None:
    of = held("t", WITH_TABLE, limit=64)
    first, second = of.piece("drug 10 "), of.piece("drug 30 ")
    whole = assembled([(of, first), (of, second)]).tokens
    [part] = assembled([(of, second), (of, first)], budget=whole - 1).passages
    assert part.text == "\n".join(
        ["| Drug | Dose |", "|---|---|", of.said(first.spans), of.said(second.spans)]
    )
    assert part.text == of.said(part.spans)


def test_running_heads_inside_a_passage_are_left_out() -> None:
    from dataclasses import replace

    from veraz.nouns.corpus import Span

    of = leaflet()
    at = of.text.index("## Kidneys")
    head = Span(at, at + len("## Kidneys"))
    of = replace(of, stored=replace(of.stored, furniture=(head,)))
    [passage] = assembled([(of, of.piece("2000 mg")), (of, of.piece("eGFR"))]).passages
    assert "Kidneys" not in passage.text
    assert passage.text == of.said(passage.spans)
    assert len(passage.spans) == 2


# The budget


def test_the_best_hit_is_cut_between_sentences_where_it_alone_is_too_long() -> None:
    text = " ".join(f"Sentence number {n} says what it says." for n in range(40))
    of, other = held("long", text), held("other", "Short.")
    found = assembled([(of, of.pieces[0]), (other, other.pieces[0])], budget=30)
    [passage] = found.passages
    assert passage.text == " ".join(f"Sentence number {n} says what it says." for n in range(3))
    assert passage.truncated
    assert found.tokens <= 30
    assert found.notes == (CUT,)
    assert [(one.rank, one.why) for one in found.left_out] == [(2, "budget")]


def test_a_budget_below_one_sentence_gives_nothing_and_says_so() -> None:
    of = leaflet()
    found = assembled([(of, of.piece("eGFR"))], budget=10)
    assert (found.passages, found.tokens, found.notes) == ((), 0, (TOO_SMALL,))
    assert [one.why for one in found.left_out] == ["budget"]


def test_a_smaller_hit_behind_one_that_does_not_fit_is_given() -> None:
    of = leaflet()
    long = held("long", " ".join(f"Sentence number {n} says what it says." for n in range(40)))
    found = assembled([(of, of.piece("eGFR")), (long, long.pieces[0]), (of, of.piece("dry"))], budget=60)
    assert [(one.rank, one.why) for one in found.left_out] == [(2, "budget")]
    assert [c.rank for p in found.passages for c in p.chunks] == [1, 3]


def test_the_most_hits_of_a_document() -> None:
    of, other = leaflet(), held("other", "Rank four says this much.")
    found = assembled(
        [(of, of.pieces[0]), (of, of.pieces[2]), (of, of.pieces[3]), (other, other.pieces[0])], per_document=1
    )
    assert [(p.rank, p.document.external_id) for p in found.passages] == [(1, "leaflet"), (4, "other")]
    assert [(one.rank, one.why) for one in found.left_out] == [(2, "per_document"), (3, "per_document")]


def test_a_hit_of_which_nothing_can_be_read_any_more_is_left_out() -> None:
    of = leaflet()
    found = assembled([(of, of.pieces[0]), (of, of.pieces[2])], known=[of.pieces[2]], neighbours=5)
    assert [(one.rank, one.why) for one in found.left_out] == [(1, "gone")]
    assert texts(found) == [of.said(of.pieces[2].spans)]


def test_documents_are_never_joined() -> None:
    one, two = held("one", "The end of one."), held("two", "The beginning of two.")
    assert (
        len(assembled([(one, one.pieces[0]), (two, two.pieces[0])], neighbours=50, sections=True).passages)
        == 2
    )


def test_without_a_budget_nobody_counts() -> None:
    of = leaflet()
    found = assembled([(of, of.pieces[0])], budget=None, count=None)
    assert [p.tokens for p in found.passages] == [None]


@pytest.mark.parametrize("answer", [[], [1, 2], [-1]])
def test_a_count_that_is_none_is_an_error(answer: list[int]) -> None:
    of = leaflet()
    with pytest.raises(MalformedResponse, match="count_tokens answered"):
        assembled([(of, of.pieces[0])], count=lambda _: answer)


# Of an answer


def test_the_evidence_is_the_hits_as_far_as_they_are_given() -> None:
    text = " ".join(f"Sentence number {n} says what it says." for n in range(40))
    of, other = held("long", text), held("other", "Short.")
    found = [(of, of.pieces[0]), (other, other.pieces[0])]
    [cut] = evidence_of(hits(*found), assembled(found, budget=30))
    assert cut.body == " ".join(f"Sentence number {n} says what it says." for n in range(3))
    assert of.said(cut.spans) == cut.body
    assert list(evidence_of(hits(*found), assembled(found))) == hits(*found)
