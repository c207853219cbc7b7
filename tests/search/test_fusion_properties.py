"""Fusion as arithmetic: order of arrival is nothing, better is never worse, one arm alone is itself."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from uuid import UUID

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from veraz.search.fusion import METHODS, Candidate, FusionSettings, arm_weights, fuse

IDS = [UUID(int=n) for n in range(12)]
Arms = dict[str, list[Candidate]]
score = st.floats(-50, 50, allow_nan=False, width=32)
known = {key: (1 + n % 5, date(2020, 1, 1 + n)) for n, key in enumerate(IDS)}
"""Authority and date belong to the chunk: both arms report the same."""


def arm() -> st.SearchStrategy[list[Candidate]]:
    pairs = st.lists(st.tuples(st.sampled_from(IDS), score), unique_by=lambda pair: pair[0], max_size=12)
    return pairs.map(lambda found: [Candidate(key, value, *known[key]) for key, value in found])


arms = st.fixed_dictionaries({"lexical": arm(), "semantic": arm()})
settings = st.builds(
    FusionSettings,
    method=st.sampled_from(sorted(METHODS)),
    semantic_weight=st.floats(0, 1),
    k=st.integers(1, 100),
)


@given(arms=arms, settings=settings, data=st.data())
def test_the_order_of_arrival_changes_nothing(
    arms: Arms, settings: FusionSettings, data: st.DataObject
) -> None:
    mixed = {name: data.draw(st.permutations(candidates)) for name, candidates in arms.items()}
    assert fuse(mixed, settings) == fuse(arms, settings)


@given(arms=arms, settings=settings)
def test_every_candidate_once_with_a_finite_score_in_falling_order(
    arms: Arms, settings: FusionSettings
) -> None:
    fused = fuse(arms, settings)
    assert {f.chunk_id for f in fused} == {c.chunk_id for candidates in arms.values() for c in candidates}
    assert len({f.chunk_id for f in fused}) == len(fused)
    assert all(math.isfinite(f.score) for f in fused)
    assert [f.score for f in fused] == sorted((f.score for f in fused), reverse=True)
    for f in fused:
        assert f.scores == {
            name: c.score for name, cs in arms.items() for c in cs if c.chunk_id == f.chunk_id
        }
        assert set(f.ranks) == set(f.scores)


OF_THE_SPREAD = frozenset({"zscore", "dbsf"})
"""What these give depends on the spread of all scores: one far better than the rest makes everything else alike, and itself
smaller beside the other arm."""


@given(arms=arms, settings=settings.filter(lambda s: s.method not in OF_THE_SPREAD), data=st.data())
def test_a_better_score_in_an_arm_never_lowers_the_place(
    arms: Arms, settings: FusionSettings, data: st.DataObject
) -> None:
    places = [(name, i) for name, candidates in arms.items() for i in range(len(candidates))]
    if not places:
        return
    name, i = data.draw(st.sampled_from(places))
    chosen = arms[name][i]
    raised = replace(chosen, score=chosen.score + data.draw(st.floats(0.5, 20, width=32)))
    better = {**arms, name: [*arms[name][:i], raised, *arms[name][i + 1 :]]}
    place = [f.chunk_id for f in fuse(arms, settings)].index(chosen.chunk_id)
    new_place = [f.chunk_id for f in fuse(better, settings)].index(chosen.chunk_id)
    assert new_place <= place


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(
    ("weight", "leading", "other"), [(0.0, "lexical", "semantic"), (1.0, "semantic", "lexical")]
)
@given(arms=arms)
def test_all_the_weight_on_one_arm_is_that_arm(
    method: str, weight: float, leading: str, other: str, arms: Arms
) -> None:
    """What only the other arm found comes with nothing, hence after whatever the leading arm scored above nothing."""
    fused = fuse(arms, FusionSettings(method, weight, 60))
    alone = fuse({leading: arms[leading]}, FusionSettings(method, weight, 60))
    own = {f.chunk_id: f.score for f in alone}
    assert {f.chunk_id: f.score for f in fused if f.chunk_id in own} == own
    assert all(f.score == 0 for f in fused if f.chunk_id not in own)
    assert [f.chunk_id for f in fused if f.chunk_id in own] == [f.chunk_id for f in alone]
    assert other in arms


@pytest.mark.parametrize("method", sorted(METHODS))
def test_ties_go_to_authority_then_to_the_newer_then_to_the_id(method: str) -> None:
    tied = [
        Candidate(IDS[3], 1.0, 3, date(2020, 1, 1)),
        Candidate(IDS[2], 1.0, 3, date(2020, 1, 1)),
        Candidate(IDS[1], 1.0, 3, None),
        Candidate(IDS[0], 1.0, 3, date(2021, 1, 1)),
        Candidate(IDS[4], 1.0, 5, None),
    ]
    assert [f.chunk_id for f in fuse({"lexical": tied}, FusionSettings(method, 0.5, 60))] == [
        IDS[4],
        IDS[0],
        IDS[2],
        IDS[3],
        IDS[1],
    ]


def test_minmax_by_hand() -> None:
    lexical = [
        Candidate(IDS[0], 12.0, 3, None),
        Candidate(IDS[1], 8.0, 3, None),
        Candidate(IDS[2], 4.0, 3, None),
    ]
    semantic = [Candidate(IDS[1], 0.9, 3, None), Candidate(IDS[3], 0.5, 3, None)]
    fused = fuse({"lexical": lexical, "semantic": semantic}, FusionSettings("minmax", 0.6, 60))
    assert {f.chunk_id: pytest.approx(f.score) for f in fused} == {
        IDS[0]: 0.4,
        IDS[1]: 0.8,
        IDS[2]: 0.0,
        IDS[3]: 0.0,
    }
    assert [f.chunk_id for f in fused][:2] == [IDS[1], IDS[0]]


def test_reciprocal_rank_by_hand() -> None:
    lexical = [Candidate(IDS[0], 12.0, 3, None), Candidate(IDS[1], 8.0, 3, None)]
    semantic = [Candidate(IDS[1], 0.9, 3, None)]
    fused = fuse({"lexical": lexical, "semantic": semantic}, FusionSettings("rrf", 0.5, 60))
    assert {f.chunk_id: f.score for f in fused} == {
        IDS[0]: 0.5 / 61,
        IDS[1]: pytest.approx(0.5 / 62 + 0.5 / 61),
    }


@pytest.mark.parametrize("method", sorted(METHODS))
def test_nothing_gives_nothing(method: str) -> None:
    assert fuse({"lexical": [], "semantic": []}, FusionSettings(method, 0.6, 60)) == []
    assert fuse({}, FusionSettings(method, 0.6, 60)) == []


# --- oracles: the same figures by numpy, which knows nothing of candidates


def recomputed(method: str, arm: str, scores: list[float]) -> list[float]:
    given = np.array(scores, np.float64)
    low, high, deviation = given.min(), given.max(), given.std()
    if method == "zscore":
        z = (given - given.mean()) / deviation if high > low else np.zeros(len(given))
        return list(z - z.min()) if high > low else [1.0] * len(given)
    if method == "dbsf":
        if high == low:
            return [0.5] * len(given)
        ends = given.mean() - 3 * deviation, given.mean() + 3 * deviation
        return list(np.clip((given - ends[0]) / (ends[1] - ends[0]), 0, 1))
    assert method == "convex"
    floor = min({"lexical": 0.0, "semantic": -1.0}[arm], low)
    return list((given - floor) / (high - floor)) if high > floor else [1.0] * len(given)


@pytest.mark.parametrize("method", ["zscore", "dbsf", "convex"])
@given(arms=arms, weight=st.floats(0, 1))
def test_scores_are_what_numpy_says(method: str, arms: Arms, weight: float) -> None:
    # a spread that rounding alone decides is no figure to compare
    assume(
        all(len({c.score for c in cs}) < 2 or np.std([c.score for c in cs]) > 1e-3 for cs in arms.values())
    )
    expected: dict[UUID, float] = {}
    for name, candidates in arms.items():
        if candidates:
            share = weight if name == "semantic" else 1 - weight
            values = recomputed(method, name, [c.score for c in candidates])
            for candidate, value in zip(candidates, values, strict=True):
                expected[candidate.chunk_id] = expected.get(candidate.chunk_id, 0.0) + share * value
    fused = fuse(arms, FusionSettings(method, weight, 60))
    assert {f.chunk_id: f.score for f in fused} == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_zscore_by_hand() -> None:
    lexical = [Candidate(IDS[n], score, 3, None) for n, score in enumerate((9.0, 5.0, 1.0, 5.0))]
    # mean 5, deviation √8: 8/√8, 4/√8, 0
    fused = {f.chunk_id: f.score for f in fuse({"lexical": lexical}, FusionSettings("zscore", 0.6, 60))}
    assert fused == pytest.approx({IDS[0]: 8**0.5, IDS[1]: 2**0.5, IDS[2]: 0.0, IDS[3]: 2**0.5})


def test_dbsf_by_hand() -> None:
    lexical = [Candidate(IDS[n], score, 3, None) for n, score in enumerate((3.0, 1.0))]
    # mean 2, deviation 1: from -1 to 5
    fused = {f.chunk_id: f.score for f in fuse({"lexical": lexical}, FusionSettings("dbsf", 0.6, 60))}
    assert fused == pytest.approx({IDS[0]: 4 / 6, IDS[1]: 2 / 6})


def test_convex_does_not_depend_on_the_depth_of_the_pool() -> None:
    lexical = [Candidate(IDS[n], 10.0 - n, 3, None) for n in range(8)]
    semantic = [Candidate(IDS[11 - n], 0.9 - n / 20, 3, None) for n in range(8)]
    settings = FusionSettings("convex", 0.6, 60)
    deep = {f.chunk_id: f.parts for f in fuse({"lexical": lexical, "semantic": semantic}, settings)}
    for f in fuse({"lexical": lexical[:3], "semantic": semantic[:3]}, settings):
        assert all(deep[f.chunk_id][arm] == part for arm, part in f.parts.items())
    assert deep[IDS[11]]["semantic"] == pytest.approx(0.6)
    assert deep[IDS[9]]["semantic"] == pytest.approx(0.6 * 1.8 / 1.9)
    assert deep[IDS[2]]["lexical"] == pytest.approx(0.4 * 0.8)


# --- more rankings than arms: several questions asked of one


@pytest.mark.parametrize("method", sorted(METHODS))
@given(arms=arms, weight=st.floats(0, 1), times=st.integers(1, 3))
def test_the_same_ranking_again_changes_nothing(method: str, arms: Arms, weight: float, times: int) -> None:
    settings = FusionSettings(method, weight, 60)
    again = {f"{name}:{n}" if n else name: cs for name, cs in arms.items() for n in range(times)}
    once = {f.chunk_id: f.score for f in fuse(arms, settings)}
    assert {f.chunk_id: f.score for f in fuse(again, settings)} == pytest.approx(once, abs=1e-9)


@given(weight=st.floats(0, 1), lexical=st.integers(0, 4), semantic=st.integers(0, 4))
def test_the_shares_of_all_rankings_are_one(weight: float, lexical: int, semantic: int) -> None:
    counts = {"lexical": lexical, "semantic": semantic}
    arms: Arms = {f"{name}:{n}" if n else name: [] for name, count in counts.items() for n in range(count)}
    shares = arm_weights(arms, FusionSettings("rrf", weight, 60))
    assert set(shares) == set(arms)
    assert sum(shares.values()) == pytest.approx(1.0 if arms else 0.0)
    if lexical and semantic:
        assert sum(s for name, s in shares.items() if name.startswith("semantic")) == pytest.approx(weight)


def test_a_ranking_of_no_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="'fuzzy' is no ranking"):
        fuse({"fuzzy": [], "lexical": []}, FusionSettings("rrf", 0.5, 60))
