"""Recall against an exact result: ties, short answers, figures, what gates can name, what settings follow from sizes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import UsageError
from veraz.evaluation.gates import parse_gate
from veraz.evaluation.statistics import bootstrap_interval
from veraz.nouns.measure import IndexFigure
from veraz.ops.measure import methods, recall, series
from veraz.ops.measure.methods import Choices, Shape, settings_of
from veraz.ops.measure.recall import Answers, Found, compare, figure, ordered
from veraz.ops.measure.store import SeriesRow


def ranked(*scores: float, first: int = 1) -> list[tuple[UUID, float]]:
    return [(UUID(int=first + n), score) for n, score in enumerate(scores)]


EXACT = ranked(0.9, 0.8, 0.7, 0.6)


@pytest.mark.parametrize(
    ("found", "k", "expected"),
    [
        (EXACT, 3, Found(3, 3)),
        (EXACT[:1] + EXACT[2:], 3, Found(3, 2)),
        (EXACT[:2], 3, Found(3, 2)),
        ([], 3, Found(3, 0)),
        (EXACT, 10, Found(4, 4)),
        (list(reversed(EXACT)), 2, Found(2, 0)),
    ],
)
def test_recall_counts_the_best_that_were_found_among_as_many(
    found: list[tuple[UUID, float]], k: int, expected: Found
) -> None:
    assert compare(found, EXACT, k) == expected


def test_chunks_that_score_as_the_last_one_stand_for_each_other() -> None:
    copies = ranked(0.9, 0.5, 0.5, 0.5)
    assert compare([copies[0], copies[3]], copies, 2) == Found(2, 2)
    assert compare([copies[0], (UUID(int=99), 0.4999)], copies, 2) == Found(2, 1)


def test_a_better_score_that_the_exact_result_does_not_know_counts_for_nothing() -> None:
    """Such as that of a chunk which this reader may not see."""
    assert compare([(UUID(int=99), 0.95), *EXACT], EXACT, 2) == Found(2, 1)


def test_nothing_to_find_is_found() -> None:
    assert compare([], [], 10) == Found(0, 0)
    assert Found(0, 0).recall == 1


@given(st.lists(st.floats(-1, 1), max_size=30), st.integers(1, 40), st.randoms())
def test_recall_lies_between_none_and_all(scores: list[float], k: int, chance: Any) -> None:
    exact = ordered([(UUID(int=n), score) for n, score in enumerate(scores)])
    part = ordered([entry for entry in exact if chance.random() < 0.6])
    found = compare(part, exact, k)
    assert 0 <= found.found <= found.expected == min(k, len(exact))
    assert compare(exact, exact, k).recall == 1


def test_an_answer_is_put_in_order_without_the_chunk_that_asked() -> None:
    mixed = [EXACT[2], EXACT[0], EXACT[3], EXACT[1]]
    assert ordered(mixed) == EXACT
    assert ordered(mixed, without=EXACT[0][0]) == EXACT[1:]


def answers(*found: list[tuple[UUID, float]], **changes: Any) -> Answers:
    times = [float(n) for n in range(1, len(found) + 1)]
    return Answers("semantic", "hnsw", {"ef_search": 40}, found, times, 2048, **changes)


def test_figures_are_over_the_queries_that_have_a_result() -> None:
    exact = [EXACT, EXACT, EXACT, []]
    row = figure(answers(EXACT, EXACT[:2], EXACT[1:], []), exact, 4, bootstrap_interval)
    assert row is not None
    assert (row.recall, row.worst, row.complete, row.short) == (0.75, 0.5, pytest.approx(1 / 3, abs=1e-6), 2)
    assert row.low <= row.recall <= row.high
    assert row.low < row.high
    assert (row.p50_ms, row.p95_ms) == (2.5, 3.85)
    assert (row.size_bytes, row.build_seconds, row.k) == (2048, None, 4)
    assert figure(answers([]), [[]], 4, bootstrap_interval) is None


def row(**changes: Any) -> IndexFigure:
    usual: dict[str, Any] = {
        "arm": "semantic", "method": "hnsw", "settings": {}, "k": 10, "recall": 0.99, "low": 0.98, "high": 1.0,
        "worst": 0.9, "complete": 0.9, "short": 0, "p50_ms": 1.0, "p95_ms": 2.0, "size_bytes": 1, "build_seconds": None,
    }  # fmt: skip
    return IndexFigure(**{**usual, **changes})


def test_gates_name_the_lowest_of_several_settings() -> None:
    rows = [
        row(),
        row(recall=0.97, worst=0.5),
        row(method="ivfflat", recall=0.8, worst=0.1, build_seconds=1.5),
        row(method="exact", recall=1.0),
        row(arm="lexical", method="budgeted", recall=0.96),
    ]
    found = recall.values(rows)
    assert found == {
        "recall@10": 0.97,
        "hnsw.recall@10": 0.97,
        "hnsw.worst@10": 0.5,
        "ivfflat.recall@10": 0.8,
        "ivfflat.worst@10": 0.1,
        "lexical.recall@10": 0.96,
        "lexical.worst@10": 0.9,
    }
    of_clusters = recall.values(
        [row(method="ivfflat", recall=0.8), row(method="hnsw_fresh", build_seconds=1.5)]
    )
    assert of_clusters["recall@10"] == 0.8, "the index that the space has, whatever its kind"
    names = recall.gate_names(("exact", "hnsw", "ivfflat"), (10,))
    assert set(found) <= set(names)
    for name in recall.gate_names(methods.METHODS, (10, 50)):
        assert parse_gate(f"{name}>=0.9", [name]).metric == name


def test_what_is_under_the_floor_is_warned_of_once_at_its_lowest() -> None:
    rows = [
        row(method="binary", settings={"oversampling": 8}, k=10, recall=0.9),
        row(method="binary", settings={"oversampling": 8}, k=50, recall=0.83),
        row(method="binary_centred", recall=0.949),
        row(recall=0.95),
    ]
    first, second = recall.warnings(rows)
    assert first.startswith("binary (oversampling 8): recall@50 is 0.830, under 0.95: refused for this space")
    assert second.startswith("binary_centred: recall@10 is 0.949")


SHAPE = Shape(rows=5000, pool=100, m=16, ef_construction=64, ef_search=120)


def test_settings_follow_the_size_of_the_store() -> None:
    (hnsw,) = settings_of("hnsw", Choices(), SHAPE)
    assert (hnsw.ef_search, hnsw.shown) == (120, {"m": 16, "ef_construction": 64, "ef_search": 120})
    stated = settings_of("hnsw_fresh", Choices(ef_search=(40, 400)), SHAPE)
    assert [s.ef_search for s in stated] == [40, 400]
    assert stated[0].build == {"m": 16, "ef_construction": 64}
    clusters = settings_of("ivfflat", Choices(), SHAPE)
    assert [(s.shown["lists"], s.probes) for s in clusters] == [(5, 2), (5, 5)]
    assert [s.probes for s in settings_of("ivfflat", Choices(lists=50, probes=(1, 60)), SHAPE)] == [1, 50]
    (signs,) = settings_of("binary", Choices(), SHAPE)
    assert (signs.candidates, signs.ef_search) == (800, 800)
    assert settings_of("binary", Choices(oversampling=(32,)), SHAPE)[0].ef_search == 1000


@pytest.mark.parametrize(
    ("rows", "lists", "probes"),
    [(0, 1, (1,)), (999, 1, (1,)), (100_000, 100, (10, 40)), (4_000_000, 2000, (44, 176))],
)
def test_clusters_follow_the_number_of_vectors(rows: int, lists: int, probes: tuple[int, ...]) -> None:
    assert methods.usual_lists(rows) == lists
    assert methods.usual_probes(lists) == probes


def test_the_options_of_an_index_are_read_or_are_those_of_pgvector() -> None:
    assert methods.options_of(None) == {"m": 16, "ef_construction": 64}
    assert methods.options_of(["m=24", "ef_construction=200"]) == {"m": 24, "ef_construction": 200}


@pytest.mark.parametrize(
    "changes",
    [
        {"ks": ()},
        {"ks": (0,)},
        {"ks": (1001,)},
        {"methods": ("exact", "flat")},
        {"methods": ()},
        {"ef_search": (1001,)},
        {"lists": 0},
        {"probes": (0,)},
        {"oversampling": (0,)},
        {"queries": 0},
    ],
)
def test_choices_that_no_server_takes_are_refused(changes: Any) -> None:
    with pytest.raises(UsageError):
        methods.check(Choices(**changes))


# A series


SINCE = datetime(2024, 5, 1, tzinfo=UTC)


def day(number: int, arm: str | None, samples: int, *rest: Any, dropped: int = 0) -> SeriesRow:
    return SeriesRow(date(2024, 5, number), arm, samples, *(rest or (0, None, None, None)), dropped=dropped)


def test_the_recall_of_a_period_is_over_searches_not_over_days() -> None:
    rows = [
        day(1, "lexical", 10),
        day(1, "semantic", 90, 90, 1.0, 1.0, 5.0),
        day(2, "semantic", 20, 10, 0.5, 0.1, 7.0),
        day(2, None, 0, 0, None, None, None, dropped=3),
    ]
    found = series.summary(rows, tenant="t", since=SINCE, share=0.01)
    assert (found.recall, found.worst, found.samples, found.approximated, found.dropped) == (
        0.95,
        0.1,
        120,
        100,
        3,
    )
    assert found.arms == {"lexical": 1.0, "semantic": 0.95}
    assert [(d.day.day, d.arm, d.mean) for d in found.days] == [
        (1, "lexical", None),
        (1, "semantic", 1.0),
        (2, "semantic", 0.5),
    ]
    assert set(series.values(found)) == set(series.GATED)
    assert series.values(found)["semantic.recall"] == 0.95


def test_where_everything_was_read_nothing_was_missed_and_where_nothing_was_sampled_nothing_is_known() -> (
    None
):
    read = series.summary([day(1, "semantic", 4)], tenant="t", since=SINCE, share=0.01)
    assert (read.recall, read.worst, read.samples) == (1.0, 1.0, 4)
    none = series.summary([], tenant="t", since=SINCE, share=0.0)
    assert (none.recall, none.worst, none.samples) == (None, None, 0)
    assert series.values(none)["recall"] is None
