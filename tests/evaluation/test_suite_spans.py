"""When a chunk earns a judged span, where a judged text stands later, and what a ranking of chunks is worth."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, R, nDCG

from veraz.evaluation.measures import Measure, score
from veraz.evaluation.suites.binding import bind
from veraz.evaluation.suites.judgements import text_hash, unit_grades
from veraz.evaluation.suites.spans import covers, earned, places
from veraz.evaluation.suites.units import RevisionKey, Units
from veraz.nouns.corpus import Span
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.suite import ChunkPlace, JudgedSpan, QueryRequest, StoredDocument

TEXT = "".join(f"[{n:03}] " for n in range(200))  # six characters each, no two windows alike
ASKED = QueryRequest("q", "Which?")


def span(start: int, end: int, grade: int = 2, *, text: str = TEXT, document: str = "d") -> JudgedSpan:
    return JudgedSpan("s", document, start, end, text_hash(text[start:end]), grade)


def item(*edges: int, chunk: str = "", document: str = "d", revision: int = 1) -> RankedItem:
    spans = tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))
    return RankedItem(document, 1.0, chunk or str(edges), ChunkPlace("s", document, revision, spans))


# The rule


@pytest.mark.parametrize(
    ("chunk", "judged", "covered"),
    [
        ([(0, 100)], (0, 100), True),
        ([(0, 1000)], (400, 460), True),  # a long chunk holds the sentence
        ([(400, 460)], (0, 1000), True),  # a short one is a piece of the passage
        ([(0, 100)], (50, 150), True),  # half of each
        ([(0, 100)], (51, 151), False),
        ([(0, 1000)], (970, 1030), True),  # half of the sentence
        ([(0, 1000)], (971, 1031), False),  # it only touches it
        ([(0, 100)], (100, 200), False),
        ([(0, 40), (60, 100)], (40, 60), False),  # it skips what was judged
        ([(0, 40), (60, 100)], (20, 80), True),  # 40 of 60
        ([], (0, 10), False),
    ],
)
def test_at_least_half_of_the_shorter_one(
    chunk: list[tuple[int, int]], judged: tuple[int, int], covered: bool
) -> None:
    assert covers([Span(*edges) for edges in chunk], Span(*judged)) is covered


@given(st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_covering_is_mutual_for_one_span_and_needs_an_overlap(edges: list[int]) -> None:
    (a, b), (c, d) = sorted(edges[:2]), sorted(edges[2:])
    one, other = Span(a, b), Span(c, d)
    assert covers([one], other) == covers([other], one)
    if min(b, d) <= max(a, c):
        assert not covers([one], other)
    elif (a <= c and d <= b) or (c <= a and b <= d):
        assert covers([one], other), "what lies inside the other is covered"


def test_the_best_grade_comes_first_then_the_order_of_reading() -> None:
    judged = [span(0, 12, 1), span(12, 24, 3), span(24, 36, 1)]
    found = earned([Span(0, 36)], {s: Span(s.start, s.end) for s in reversed(judged)})
    assert [(s.start, s.grade) for s in found] == [(12, 3), (0, 1), (24, 1)]


def test_what_was_judged_of_a_piece_counts_before_what_was_judged_of_the_whole() -> None:
    whole, blank, good = span(0, 120, 3), span(0, 30, 0), span(30, 60, 3)
    judged = {s: Span(s.start, s.end) for s in (whole, blank, good)}
    assert earned([Span(0, 30)], judged) == (blank,)
    assert earned([Span(30, 60)], judged) == (whole, good)
    assert earned([Span(60, 90)], judged) == (whole,), "of this piece nobody said anything"
    assert set(earned([Span(0, 120)], judged)) == {whole, blank, good}
    assert whole in earned([Span(25, 60)], judged), "the blank piece is a small part of that chunk"


# Moved texts


def test_a_text_that_moved_is_found_by_its_hash() -> None:
    later = "A new beginning, ¿qué? €. " + TEXT
    moved = places(later, [span(60, 90), span(600, 630)])
    assert [later[p.start : p.end] for p in moved.values()] == [TEXT[60:90], TEXT[600:630]]


def test_a_text_that_is_gone_is_not_found() -> None:
    assert places(TEXT.replace("[015]", "[x15]"), [span(80, 110)]) == {}
    assert places("short", [span(0, 300)]) == {}
    assert places("", [span(0, 3)]) == {}


def test_of_several_the_one_that_moved_as_its_neighbour_did_else_the_nearest() -> None:
    text = "same. " * 3 + "first " + "same. " * 3
    here = span(0, 5, text=text)
    assert places(text, [here]) == {here: Span(0, 5)}
    beside = JudgedSpan("s", "d", 20, 25, text_hash("same."), 1)
    assert places(text, [beside]) == {beside: Span(24, 29)}, "the nearest"
    first = span(18, 23, text=text)
    longer = "same. " * 4 + text
    last = span(36, 41, text=text)
    assert places(longer, [first, last]) == {first: Span(42, 47), last: Span(60, 65)}
    assert places(longer, [last])[last] == Span(36, 41), "alone it is taken for one that did not move"


@given(st.text(min_size=1, max_size=60), st.text(max_size=20), st.data())
def test_whatever_comes_before_the_text_is_found(text: str, before: str, data: st.DataObject) -> None:
    text, before = (t.encode("utf-8", "replace").decode() for t in (text, before))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    judged = span(start, end, text=text)
    where = places(before + text, [judged])[judged]
    assert (before + text)[where.start : where.end] == text[start:end]


# Units


class Texts:
    def __init__(self, texts: Mapping[RevisionKey, str]) -> None:
        self.texts = texts
        self.asked: list[set[RevisionKey]] = []

    async def __call__(
        self,
        request: QueryRequest,  # noqa: ARG002
        keys: Collection[RevisionKey],
    ) -> Mapping[RevisionKey, str]:
        self.asked.append(set(keys))
        return {key: self.texts[key] for key in keys if key in self.texts}


async def test_a_chunk_takes_a_place_for_each_unit_that_it_is_the_first_to_find() -> None:
    low, high = span(0, 12, 1), span(12, 24, 3)
    texts = Texts({("s", "d", 1): TEXT})
    units = Units({"q": (low, high)}, texts)
    found = await units.ranked(ASKED, [item(300, 360), item(0, 24), item(0, 12), item(600, 660)])
    assert [i.docid for i in found] == ["s/d@300-360", high.unit, low.unit, "s/d@0-12", "s/d@600-660"]
    assert [i.chunk_id for i in found] == ["(300, 360)", "(0, 24)", "(0, 24)", "(0, 12)", "(600, 660)"]
    assert await units.ranked(ASKED, [item(0, 24)], 1) == found[1:2]
    assert texts.asked == [{("s", "d", 1)}], "a text is asked for once"


async def test_a_unit_counts_once_and_one_that_nobody_finds_stays_in_the_ideal() -> None:
    judged = {"q": (span(0, 12, 3), span(600, 612, 1))}
    units = Units(judged, Texts({("s", "d", 1): TEXT}))
    found = await units.ranked(ASKED, [item(0, 24), item(0, 12), item(6, 12)])
    ids = [i.docid for i in found]
    assert len(set(ids)) == len(ids) == 3
    scores = score({"q": ids}, unit_grades(judged), [Measure("recall", 5), Measure("ndcg", 5)])
    assert scores.means["recall@5"] == 0.5
    run = {"q": {docid: -float(place) for place, docid in enumerate(ids)}}
    theirs = ir_measures.calc_aggregate([nDCG @ 5, R @ 5, AP], unit_grades(judged), run)
    assert scores.means["ndcg@5"] == pytest.approx(theirs[nDCG @ 5])
    assert scores.means["ndcg@5"] == pytest.approx(3 / (3 + 1 / 1.5849625007211562))


async def test_another_revision_is_bound_by_its_own_text() -> None:
    judged = span(0, 30)
    units = Units({"q": (judged,)}, Texts({("s", "d", 1): TEXT, ("s", "d", 2): "Preface. " + TEXT}))
    assert [i.docid for i in await units.ranked(ASKED, [item(9, 39, revision=2)])] == [judged.unit]
    assert [i.docid for i in await units.ranked(ASKED, [item(0, 30, revision=1)])] == [judged.unit]
    assert [i.docid for i in await units.ranked(ASKED, [item(90, 120, revision=2)])] == ["s/d@90-120"]


async def test_a_document_that_says_the_same_as_a_hit_earns_its_own_judgement() -> None:
    other = "Another medicine. " + TEXT[60:90] + " The end."
    judged = span(18, 48, text=other, document="twin")
    units = Units({"q": (judged,)}, Texts({("s", "d", 1): TEXT, ("s", "twin", 1): other}))
    hit = item(60, 90, chunk="c1")
    twin = RankedItem("twin", 1.0, "c1", ChunkPlace("s", "twin", 1))
    assert [i.docid for i in await units.ranked(ASKED, [hit, twin])] == ["s/d@60-90", judged.unit]


async def test_what_may_not_be_read_earns_nothing() -> None:
    judged = span(0, 30)
    found = await Units({"q": (judged,)}, Texts({})).ranked(ASKED, [item(0, 30)])
    assert [i.docid for i in found] == ["s/d@0-30"]


async def test_only_the_judgements_of_the_query_itself_count() -> None:
    judged = span(0, 30)
    units = Units({"other": (judged,), "q": (span(600, 630),)}, Texts({("s", "d", 1): TEXT}))
    assert [i.docid for i in await units.ranked(ASKED, [item(0, 30)])] == ["s/d@0-30"]


# Binding


def test_what_cannot_be_earned_is_told_with_its_reason() -> None:
    spans = {
        "q1": (span(0, 30), span(60, 90, 0), span(600, 630, document="absent")),
        "q2": (
            span(300, 330),
            JudgedSpan("s", "d", 0, 5, text_hash("other"), 1),
            span(0, 6, document="hidden"),
        ),
    }
    chunks = ((Span(5, 45),), (Span(65, 95),))
    documents = {
        ("s", "d"): StoredDocument(2, "+++++" + TEXT, chunks),
        ("s", "hidden"): StoredDocument(1, TEXT, ()),
    }
    binding = bind(spans, documents)
    assert (binding.judgements, binding.bound, binding.moved) == (6, 2, 2)
    assert binding.share == pytest.approx(1 / 3)
    assert [(u.query_id, u.external_id, u.start, u.why) for u in binding.unbound] == [
        ("q1", "absent", 600, "document"),
        ("q2", "d", 300, "chunk"),
        ("q2", "d", 0, "text"),
        ("q2", "hidden", 0, "document"),
    ]
    assert bind({}, {}).share == 1
