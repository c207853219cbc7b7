"""What is taken of another engine's candidates, and what follows them: without a database."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import pytest

from veraz.nouns.lexical import EngineCandidates
from veraz.search.engines.rules import deeper, filled, ordered
from veraz.search.fusion import Candidate


def key(number: int) -> UUID:
    return UUID(int=number)


def candidate(number: int, score: float) -> Candidate:
    return Candidate(key(number), score, 3, None)


def test_the_order_is_total_and_the_depth_is_kept() -> None:
    found = EngineCandidates([(key(3), 1.0), (key(2), 2.0), (key(1), 1.0), (key(9), 0.5)])
    assert ordered(found, 3) == ((key(2), 2.0), (key(1), 1.0), (key(3), 1.0))


@pytest.mark.parametrize(
    ("candidates", "why"),
    [
        ([(key(1), math.nan)], "a score that is not finite"),
        ([(key(1), 1.0), (key(2), math.inf)], "a score that is not finite"),
        ([(key(1), 1.0), (key(1), 0.5)], "the same chunk twice"),
        ([("a", 1.0)], "an id that is no UUID"),
        ([(key(1), "much")], "what it gave are no pairs of a chunk's id and a score"),
        ([key(1)], "what it gave are no pairs of a chunk's id and a score"),
    ],
)
def test_one_wrong_candidate_tells_against_all(candidates: Any, why: str) -> None:
    assert ordered(EngineCandidates(candidates), 10) == why


def test_it_is_asked_twice_as_deep_up_to_a_limit() -> None:
    assert deeper(8, 100) == 16
    assert deeper(60, 100) == 100
    assert deeper(100, 100) is None


def test_what_only_the_postings_found_follows_in_their_order() -> None:
    given = [candidate(1, 9.0), candidate(2, 5.0)]
    own = [candidate(7, 20.0), candidate(2, 15.0), candidate(8, 10.0), candidate(9, 5.0)]
    complete = filled(given, own)
    assert [c.chunk_id for c in complete] == [key(n) for n in (1, 2, 7, 8, 9)]
    assert complete[:2] == given
    # Below 5.0, in a range as wide as 9.0 - 5.0: the best of their own at its top, half of it in the middle.
    assert complete[2].score == pytest.approx(5.0 - 4.0 * 1e-6)
    assert complete[3].score == pytest.approx(5.0 - 4.0 * 0.5)
    assert complete[4].score == pytest.approx(5.0 - 4.0 * 0.75)


@pytest.mark.parametrize("scores", [(0.0,), (-3.0,), (4.0, 4.0), (-1.0, -2.0), (1e9, 1e-9)])
def test_what_follows_is_behind_whatever_the_engines_scores_are(scores: tuple[float, ...]) -> None:
    given = [candidate(50 + n, score) for n, score in enumerate(scores)]
    own = [candidate(2, 3.0), candidate(1, 3.0), candidate(3, 0.1)]
    complete = filled(given, own)
    assert [c.chunk_id for c in complete] == [*(c.chunk_id for c in given), key(1), key(2), key(3)]
    assert complete == sorted(complete, key=lambda c: (-c.score, c.chunk_id))


def test_with_one_of_the_two_alone_nothing_is_placed() -> None:
    own = [candidate(2, 3.0)]
    assert filled([], own) == own
    assert filled(own, []) == own
    assert filled(own, [candidate(2, 7.0)]) == own
