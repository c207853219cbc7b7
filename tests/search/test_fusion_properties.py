"""Fusion as arithmetic: order of arrival is nothing, better is never worse, one arm alone is itself."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.search.fusion import METHODS, Candidate, FusionSettings, fuse

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


@given(arms=arms, settings=settings, data=st.data())
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


def test_nothing_gives_nothing() -> None:
    assert fuse({"lexical": [], "semantic": []}, FusionSettings("minmax", 0.6, 60)) == []
