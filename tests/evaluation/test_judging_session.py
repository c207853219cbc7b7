"""A judge at work: blind, shuffled, and able to go on after being stopped at any moment."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import UsageError
from veraz.evaluation.judging.agreement import agreements, weighted_kappa
from veraz.evaluation.judging.pool import (
    earlier_places,
    newest,
    pool,
    revisions_of_twins,
    shuffled,
    stored_rankings,
)
from veraz.evaluation.judging.session import JudgingSession
from veraz.evaluation.perquery import write_results
from veraz.evaluation.suites.judgements import JudgementLog, read_judgements, text_hash
from veraz.nouns.corpus import Span
from veraz.nouns.evaluation import JudgedDocument, QueryResult, RankedItem
from veraz.nouns.suite import ChunkPlace, Judgement, Passage, PooledQuestion, QueryRequest

NOW = datetime(2025, 5, 1, 12, 0, 0, 999, tzinfo=UTC)


def place(start: int, document: str = "d", revision: int = 1) -> ChunkPlace:
    return ChunkPlace("s", document, revision, (Span(start, start + 9),))


def passage(n: int, document: str = "d", revision: int = 1, text: str = "") -> Passage:
    text = text or f"passage {n}"
    return Passage(
        "s", document, revision, n, n + len(text), text, "Title", ("Heading",), "en", None, text_hash(text)
    )


POOL = (
    PooledQuestion(QueryRequest("q1", "One?"), (passage(1), passage(20), passage(40))),
    PooledQuestion(QueryRequest("q2", "Two?"), (passage(1), passage(60))),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judgements.jsonl"


def session(path: Path, judge: str = "ana", pool: tuple[PooledQuestion, ...] = POOL) -> JudgingSession:
    said = read_judgements(path) if path.exists() else ()
    return JudgingSession(pool, said, JudgementLog(path), judge, lambda: NOW)


def where(at: JudgingSession) -> tuple[str, int] | None:
    task = at.current()
    return (task.request.query_id, task.passage.start) if task else None


def test_each_grade_is_on_disk_before_the_next_passage_comes(path: Path) -> None:
    one = session(path)
    for done, grade in enumerate((2, 0, 1), 1):
        one.grade(grade)
        assert len(read_judgements(path)) == done
    first = read_judgements(path)[0]
    assert first == Judgement(
        "q1", "s", "d", 1, 10, text_hash("passage 1"), 2, "ana", datetime(2025, 5, 1, 12, tzinfo=UTC)
    )
    assert "passage" not in path.read_text(), "no text of the document"
    assert where(one) == ("q2", 1), "the same passage for another question"


@pytest.mark.parametrize("stopped_after", range(6))
def test_it_goes_on_where_it_was_stopped(path: Path, stopped_after: int) -> None:
    seen = []
    while (at := session(path)).current() and len(seen) < stopped_after:  # a new process each time
        seen.append(where(at))
        at.grade(1)
    rest = session(path)
    assert rest.progress.judged == min(stopped_after, 5)
    while rest.current():
        seen.append(where(rest))
        rest.grade(1)
    assert seen == [("q1", 1), ("q1", 20), ("q1", 40), ("q2", 1), ("q2", 60)]
    assert rest.progress.left == 0


def test_another_judge_begins_anew(path: Path) -> None:
    session(path).grade(2)
    assert session(path, "ben").progress.judged == 0
    assert session(path).progress.judged == 1


def test_what_is_taken_back_comes_again_also_of_an_earlier_session(path: Path) -> None:
    one = session(path)
    one.grade(2)
    one.grade(1)
    two = session(path)
    assert two.undo()
    assert where(two) == ("q1", 20)
    two.grade(0)
    assert where(two) == ("q1", 40)
    assert two.undo()
    assert two.undo()
    assert where(two) == ("q1", 1)
    assert not two.undo()
    assert session(path).progress.judged == 0
    assert [j.grade for j in read_judgements(path)] == [2, 1, None, 0, None, None]


def test_what_is_skipped_comes_again_next_time(path: Path) -> None:
    one = session(path)
    one.skip()
    one.grade(1)
    assert (one.progress.judged, one.progress.skipped, one.progress.left) == (1, 1, 3)
    one.skip(), one.skip(), one.skip()
    assert one.current() is None
    assert where(session(path)) == ("q1", 1)


def test_only_the_three_grades_are_taken_and_nothing_after_the_end(path: Path) -> None:
    at = session(path, pool=POOL[:1])
    with pytest.raises(ValueError, match="grade 3"):
        at.grade(3)
    for _ in range(3):
        at.grade(0)
    with pytest.raises(ValueError, match="nothing is left"):
        at.grade(0)
    with pytest.raises(ValueError, match="nothing is left"):
        at.skip()


def test_a_grade_that_cannot_be_kept_leaves_the_passage_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").mkdir()
    at = JudgingSession(POOL, (), JudgementLog(tmp_path / "judgements.jsonl"), "ana")
    with pytest.raises(UsageError, match="cannot be written"):
        at.grade(1)
    assert where(at) == ("q1", 1)
    assert at.progress.judged == 0


def test_a_text_that_moved_is_judged_under_its_old_place(path: Path) -> None:
    old = Judgement("q1", "s", "d", 5, 14, text_hash("passage 1"), 2, "ana")
    text = "x" * 40 + "passage 1" + " and more"
    places = earlier_places([old], {("s", "d", 7): text})
    assert places == {("q1", ("s", "d", 7, 40, 49)): Span(5, 14)}
    moved = Passage(
        "s", "d", 7, 40, 49, "passage 1", "T", (), "en", None, text_hash("passage 1"), Span(5, 14)
    )
    again = (PooledQuestion(QueryRequest("q1", "One?"), (moved,)),)
    JudgementLog(path).add(old)
    assert session(path, pool=again).current() is None
    session(path, "ben", again).grade(1)
    assert [(j.judge, j.start) for j in read_judgements(path)] == [("ana", 5), ("ben", 5)]


# The pool


def item(at: ChunkPlace, chunk: str) -> RankedItem:
    return RankedItem(at.external_id, 1.0, chunk, at)


def test_the_pool_is_the_union_of_the_first_results_once_each() -> None:
    one = [item(place(0), "a"), item(place(0), "a"), item(place(10), "b"), item(place(20), "c")]
    two = [item(place(10), "b"), item(place(30), "d"), item(place(40), "e")]
    assert pool([one, two], 2, {}) == (("s", "d", 1, 0, 9), ("s", "d", 1, 10, 19), ("s", "d", 1, 30, 39))
    assert pool([[], []], 2, {}) == ()


def test_documents_that_say_the_same_are_pooled_at_their_own_place() -> None:
    ranking = [
        item(place(0), "a"),
        item(ChunkPlace("s", "twin", 3), "a"),
        item(ChunkPlace("s", "lost", 1), "z"),
    ]
    keys = revisions_of_twins([ranking], 5)
    assert keys == {("s", "d", 1), ("s", "twin", 3)}
    texts = {("s", "d", 1): "123456789 and", ("s", "twin", 3): "Before 123456789"}
    assert pool([ranking], 5, texts) == (("s", "d", 1, 0, 9), ("s", "twin", 3, 7, 16))
    assert pool([ranking], 5, {}) == (("s", "d", 1, 0, 9),)


def test_the_order_is_stable_and_tells_neither_run_nor_rank() -> None:
    passages = [passage(n) for n in range(30)]
    order = shuffled(passages, "q1", "ana")
    mixed = passages[:]
    Random(1).shuffle(mixed)
    assert shuffled(mixed, "q1", "ana") == order
    assert sorted(order, key=lambda p: p.start) == passages
    assert (
        len({order, tuple(passages), shuffled(passages, "q2", "ana"), shuffled(passages, "q1", "ben")}) == 4
    )


def test_of_two_revisions_with_one_text_the_newer_is_shown() -> None:
    old, new, other = passage(5, text="same"), passage(9, revision=2, text="same"), passage(5, text="other")
    twice = passage(50, revision=2, text="same")
    assert newest([old, new, other, twice]) == (new, other, twice)


def result(query_id: str, *places_: ChunkPlace | None) -> QueryResult:
    ranked = tuple(JudgedDocument(n, f"u{n}", 1.0, None, f"c{n}", p) for n, p in enumerate(places_, 1))
    return QueryResult(query_id, "t", "found", {}, ranked, {}, 1.0)


def test_a_stored_run_is_pooled_from_its_per_query_file(tmp_path: Path) -> None:
    path = tmp_path / "per_query.jsonl"
    write_results(path, [result("q1", place(0), place(10)), result("q2")])
    found = stored_rankings(tmp_path, {"q1": 1, "q2": 1})
    assert [i.place for i in found["q1"]] == [place(0), place(10)]
    assert found["q2"] == []
    with pytest.raises(UsageError, match="query 'q2' is not in the suite"):
        stored_rankings(path, {"q1": 1})
    write_results(path, [result("q1", None)])
    with pytest.raises(UsageError, match="does not say where its results stand"):
        stored_rankings(path, {"q1": 1})


# Agreement


def said(judge: str, *grades: int | None) -> list[Judgement]:
    return [
        Judgement("q", "s", "d", n, n + 1, text_hash(str(n)), grade, judge)
        for n, grade in enumerate(grades)
        if grade is not None
    ]


def test_agreement_by_hand() -> None:
    a, b = [2, 2, 1, 0, 0, 2, None], [2, 1, 1, 0, 2, None, 0]
    [found] = agreements([*said("a", *a), *said("b", *b), *said("alone")])
    assert (found.a, found.b, found.passages, found.raw) == ("a", "b", 5, 3 / 5)
    # squared distances: observed 0+1+0+0+4 = 5; by chance the sum over a in 2,2,1,0,0 and b in 2,1,1,0,2, over 5
    by_chance = sum((x - y) ** 2 for x in (2, 2, 1, 0, 0) for y in (2, 1, 1, 0, 2)) / 5
    assert found.kappa == pytest.approx(1 - 5 / by_chance)
    assert found.table == {0: {0: 1, 1: 0, 2: 1}, 1: {0: 0, 1: 1, 2: 0}, 2: {0: 0, 1: 1, 2: 1}}
    assert found.apart == (("q", "s/d#4-5", 0, 2),)


def test_kappa_equals_its_definition_by_weights_of_agreement() -> None:
    """Cohen 1968 gives both forms: by weights of disagreement d², and by weights of agreement 1 - d²/(n - 1)² for n grades."""
    cells = {
        (0, 0): 53,
        (0, 1): 5,
        (0, 2): 2,
        (1, 0): 11,
        (1, 1): 14,
        (1, 2): 5,
        (2, 0): 1,
        (2, 1): 6,
        (2, 2): 3,
    }
    rows, columns = [60, 30, 10], [65, 25, 10]
    weight = {(i, j): 1 - (i - j) ** 2 / 4 for i in range(3) for j in range(3)}
    observed = sum(weight[c] * n / 100 for c, n in cells.items())
    expected = sum(weight[i, j] * rows[i] * columns[j] / 10_000 for i in range(3) for j in range(3))
    assert weighted_kappa(Counter(cells)) == pytest.approx((observed - expected) / (1 - expected))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_kappa_is_symmetric_and_at_most_one(pairs: list[tuple[int, int]]) -> None:
    one, other = weighted_kappa(Counter(pairs)), weighted_kappa(Counter((b, a) for a, b in pairs))
    assert (one is None) == (other is None)
    if one is not None:
        assert one == pytest.approx(other)
        assert -1 - 1e-9 <= one <= 1
        assert (one == 1) == all(a == b for a, b in pairs)
    else:
        assert len({g for pair in pairs for g in pair}) == 1


def test_judges_who_share_nothing_are_no_pair() -> None:
    assert agreements([*said("a", 1), *said("b", None, 2)]) == ()
    assert agreements([]) == ()
    [same] = agreements([*said("a", 1, 1), *said("b", 1, 1)])
    assert (same.raw, same.kappa) == (1.0, None)
