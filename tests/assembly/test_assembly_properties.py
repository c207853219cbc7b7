"""What holds of passages whatever was found, however documents were cut, and however tokens are counted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.assembly.shelf import Held, assembled, held, hits, words
from tests.support.chunking import MARKDOWN

from veraz.assembly.assemble import Assembled, Wanted, assemble, evidence_of
from veraz.assembly.units import Units
from veraz.nouns.context import rendered

CUTS = [
    ("structure", {}),
    ("parent-child", {"size": 16, "parent": 60}),
    ("sentence-window", {"sentences": 1}),
    ("fixed", {"size": 12, "overlap": 4}),
    ("fixed", {"size": 9, "overlap": 8}),
]
PROSE = st.lists(
    st.lists(
        st.sampled_from(["The dose is 0.5 mg.", "Dr. No asks e.g. for it.", "Stop it below 30!", "Why?", "It goes on, and on"]),
        min_size=1,
        max_size=6,
    ).map(" ".join)
    | st.just("## A heading")
    | st.just("| A | B |\n|---|---|\n" + "\n".join(f"| row {n} | 1. {n}0 mg. 2. Rest. |" for n in range(9)))
    | st.just("- one thing\n- another. Thing.\n- a third"),
    min_size=1,
    max_size=8,
).map("\n\n".join)  # fmt: skip


def characters(texts: Sequence[str]) -> list[int]:
    return [(len(text) + 2) // 3 for text in texts]


def lines_count_double(texts: Sequence[str]) -> list[int]:
    """The whole has far more tokens than its parts."""
    return [len(text.split()) + (text.count("[") - 1) ** 2 * 5 for text in texts]


PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Without shrinking, which takes minutes over whole shelves of documents."""
COUNTS = st.sampled_from([words, characters, lines_count_double])


@st.composite
def shelves(draw: st.DrawFn) -> list[Held]:
    made = []
    for n in range(draw(st.integers(1, 3))):
        cut, options = draw(st.sampled_from(CUTS))
        limit = draw(st.sampled_from([24, 40, 448]))
        text = draw(st.one_of(PROSE, MARKDOWN)) + f"\n\nThe end of {n}."
        made.append(held(f"d{n}", text, cut=cut, limit=limit, **options))
    return made


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # it would hide what failed
@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    shelf=shelves(),
    seed=st.integers(0, 1000),
    k=st.integers(1, 8),
    budget=st.none() | st.integers(16, 400),
    neighbours=st.integers(0, 3),
    sections=st.booleans(),
    per_document=st.none() | st.integers(1, 3),
    hidden=st.sampled_from([0.0, 0.3]),
    count=COUNTS,
)
def test_what_always_holds(shelf, seed, k, budget, neighbours, sections, per_document, hidden, count) -> None:  # type: ignore[no-untyped-def]
    dice = random.Random(seed)
    chunks = [(of, piece) for of in shelf for piece in of.pieces]
    found = dice.sample(chunks, min(k, len(chunks)))
    wanted_ids = {piece.chunk_id for _, piece in found}
    known = [piece for _, piece in chunks if piece.chunk_id in wanted_ids or dice.random() >= hidden]
    texts = {of.revision_id: of.stored for of in shelf}
    arguments = (hits(*found), known, texts, Wanted(budget, neighbours, sections, per_document), count)
    result = assemble(*arguments)

    within_budget(result, budget, count)
    exact_and_once(result, shelf)
    accounted_for(result, found, per_document)
    nothing_hidden(result, shelf, {piece.chunk_id for piece in known})
    if hidden == 0.0:
        nothing_cut(result, shelf)
    assert assemble(arguments[0], dice.sample(known, len(known)), *arguments[2:]) == result

    by_id = {of.revision_id: of for of in shelf}
    for hit in evidence_of(arguments[0], result):
        of = by_id[hit.document.revision_id]  # type: ignore[index]
        assert hit.body.strip()
        assert hit.body == of.said(hit.spans)


def within_budget(result: Assembled, budget: int | None, count) -> None:  # type: ignore[no-untyped-def]
    whole = count([rendered(result.passages)])[0] if result.passages else 0
    assert result.tokens == whole
    assert budget is None or whole <= budget


def exact_and_once(result: Assembled, shelf: Sequence[Held]) -> None:
    """Every passage is what its spans say, every chunk's part lies in it, and no character is given twice."""
    by_id = {of.revision_id: of for of in shelf}
    given = set()
    for n, passage in enumerate(result.passages, start=1):
        of = by_id[passage.document.revision_id]  # type: ignore[index]
        assert passage.n == n
        assert passage.text == of.said(passage.spans)
        assert passage.text == passage.text.strip() != ""
        assert (passage.start, passage.end) == (passage.spans[0].start, passage.spans[-1].end)
        assert all(a.end < b.start for a, b in pairwise(passage.spans))
        for span in passage.spans:
            for at in range(span.start, span.end):
                assert (of.revision_id, at) not in given
                given.add((of.revision_id, at))
        assert any(chunk.rank is not None for chunk in passage.chunks), passage
        assert min(c.rank for c in passage.chunks if c.rank is not None) == passage.rank
        for chunk in passage.chunks:
            assert all(
                any(span.start <= part.start < part.end <= span.end for span in passage.spans)
                for part in chunk.spans
            )
    assert [p.rank for p in result.passages] == sorted(p.rank for p in result.passages)


def accounted_for(result: Assembled, found, per_document: int | None) -> None:  # type: ignore[no-untyped-def]
    """Each hit is in a passage or left out with a reason; never both."""
    shown = {c.chunk_id for p in result.passages for c in p.chunks if c.rank is not None}
    left = {one.chunk_id for one in result.left_out}
    assert not shown & left
    assert shown | left == {piece.chunk_id for _, piece in found}
    if per_document is None:
        assert all(one.why == "budget" for one in result.left_out)


def nothing_hidden(result: Assembled, shelf: Sequence[Held], known: set) -> None:  # type: ignore[type-arg]
    """What is in chunks that may not be shown alone, and in no window of a hit, is in no passage; but a table's header, with
    which each part of it is shown by a search too."""
    shown = {c.chunk_id for p in result.passages for c in p.chunks}
    assert shown <= known
    for of in shelf:
        open_ = bytearray(len(of.text))
        for piece in of.pieces:
            if piece.chunk_id in known:
                for span in (piece.shown, *piece.spans):
                    open_[span.start : span.end] = b"x" * (span.end - span.start)
        for part in of.stored.dropped:
            open_[part.start : part.end] = b"x" * (part.end - part.start)
        units = Units(of.text, "en")
        for passage in result.passages:
            if passage.document.revision_id == of.revision_id:
                table = units.table(passage.start)
                header = None if table is None else units.header(table)
                if header is not None:
                    open_[header.start : header.end] = b"x" * (header.end - header.start)
                hidden_text = "".join(
                    of.text[at]
                    for span in passage.spans
                    for at in range(span.start, span.end)
                    if not open_[at]
                )
                assert not hidden_text.strip()


def nothing_cut(result: Assembled, shelf: Sequence[Held]) -> None:
    """No sentence and no row is cut at the edge of a passage."""
    by_id = {of.revision_id: Units(of.text, "en") for of in shelf}
    for passage in result.passages:
        units = by_id[passage.document.revision_id]  # type: ignore[index]
        for span in passage.spans:
            assert units.around(span.start) is None
            assert units.around(span.end) is None


@pytest.mark.parametrize(("cut", "options"), CUTS)
def test_all_chunks_of_a_document_give_its_text_once(cut: str, options: dict[str, int]) -> None:
    text = (
        "# A\n\n"
        + "\n\n".join(f"Paragraph {n} says {n}. It says it twice." for n in range(9))
        + "\n\n## B\n\nThe end."
    )
    of = held("d", text, cut=cut, limit=40, **options)
    mixed = random.Random(1).sample(list(of.pieces), len(of.pieces))
    [passage] = assembled([(of, piece) for piece in mixed]).passages
    assert passage.text == text[passage.start :]
    assert all(f"Paragraph {n}" in passage.text for n in range(9))
