"""Measures against hand-worked figures, an independent computation, and ir_measures itself."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import ConfigError, UsageError
from veraz.evaluation.measures import Measure, measures_for, parse_ks, score

KS = (1, 3, 5, 10)
Grades = dict[str, dict[str, int]]

docids = st.sampled_from([f"d{i}" for i in range(12)])
query_ids = st.sampled_from([f"q{i}" for i in range(5)])
rankings = st.dictionaries(query_ids, st.lists(docids, unique=True, max_size=12))


def judgements(lowest: int) -> st.SearchStrategy[Grades]:
    return st.dictionaries(query_ids, st.dictionaries(docids, st.integers(lowest, 3), min_size=1), min_size=1)


def test_h51_missing_queries_stay_in_the_mean_and_the_ideal_comes_from_the_judgements() -> None:
    scores = score(
        {"q1": ["a"]}, {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}, [Measure("recall", 10), Measure("ndcg", 10)]
    )
    ndcg = 1 / (1 + 1 / math.log2(3))
    assert scores.per_query["q1"] == pytest.approx({"recall@10": 0.5, "ndcg@10": ndcg})
    assert scores.per_query["q2"] == {"recall@10": 0.0, "ndcg@10": 0.0}
    assert scores.means == pytest.approx({"recall@10": 0.25, "ndcg@10": ndcg / 2})
    assert [round(value, 4) for value in (ndcg, scores.means["ndcg@10"])] == [0.6131, 0.3066]


def test_every_contract_metric_has_its_value() -> None:
    """Ranking x a x b with a graded 2, b graded 1 and c (grade 1) never found, worked by hand."""
    scores = score(
        {"q": ["x1", "a", "x2", "b"]}, {"q": {"a": 2, "b": 1, "c": 1, "x1": 0}}, measures_for([1, 5, 10, 20])
    )
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    expected = {
        "ndcg@10": (2 / math.log2(3) + 1 / math.log2(5)) / ideal,
        "recall@20": 2 / 3,
        "mrr@10": 1 / 2,
        "mrr@1": 0.0,
        "map": (1 / 2 + 2 / 4) / 3,
        "p@5": 2 / 5,
        "success@5": 1.0,
        "success@1": 0.0,
    }
    assert {name: scores.means[name] for name in expected} == pytest.approx(expected)


def test_nothing_retrieved_at_all_scores_zero_everywhere() -> None:
    scores = score({"q1": []}, {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"c": -2}}, measures_for(KS))
    assert set(scores.means.values()) == {0.0}
    assert set(scores.per_query) == {"q1", "q2", "q3"}


def test_grades_of_zero_and_below_are_not_relevant() -> None:
    scores = score(
        {"q": ["bad", "nil", "good"]}, {"q": {"bad": -2, "nil": 0, "good": 1}}, measures_for([1, 3])
    )
    expected = {
        "mrr@3": 1 / 3,
        "p@3": 1 / 3,
        "recall@3": 1.0,
        "success@1": 0.0,
        "ndcg@1": 0.0,
        "ndcg@3": 0.5,
        "map": 1 / 3,
    }
    assert {name: scores.means[name] for name in expected} == pytest.approx(expected)


def own_figures(ranking: Sequence[str], grades: dict[str, int], k: int) -> dict[str, float]:
    """The same measures from their definitions, without any evaluation library."""
    gains = [max(grades.get(docid, 0), 0) for docid in ranking]
    hits = [place for place, gain in enumerate(gains, start=1) if gain]
    relevant = sum(grade > 0 for grade in grades.values())
    ideal = dcg(sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:k])
    early = [place for place in hits if place <= k]
    return {
        f"ndcg@{k}": dcg(gains[:k]) / ideal if ideal else 0.0,
        f"recall@{k}": len(early) / relevant if relevant else 0.0,
        f"mrr@{k}": 1 / early[0] if early else 0.0,
        f"p@{k}": len(early) / k,
        f"success@{k}": float(bool(early)),
        "map": sum(n / place for n, place in enumerate(hits, start=1)) / relevant if relevant else 0.0,
    }


def dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


@given(rankings, judgements(lowest=-2))
def test_every_query_has_the_figures_of_the_definitions(run: dict[str, list[str]], qrels: Grades) -> None:
    scores = score(run, qrels, measures_for(KS))
    assert set(scores.per_query) == set(qrels)
    for query_id, grades in qrels.items():
        for k in KS:
            own = own_figures(run.get(query_id, []), grades, k)
            assert {name: scores.per_query[query_id][name] for name in own} == pytest.approx(own, abs=1e-6)
    for name, mean in scores.means.items():
        assert mean == pytest.approx(sum(row[name] for row in scores.per_query.values()) / len(qrels))


@given(rankings, judgements(lowest=0))
def test_means_are_those_of_ir_measures(run: dict[str, list[str]], qrels: Grades) -> None:
    """With missing queries and unjudged queries; scores play no part, the order of the ranking does."""
    given_order = {q: {d: -float(place) for place, d in enumerate(ranking)} for q, ranking in run.items()}
    theirs = {
        "ndcg@10": ir_measures.nDCG @ 10,
        "recall@5": ir_measures.R @ 5,
        "mrr@10": ir_measures.RR @ 10,
        "p@5": ir_measures.P @ 5,
        "success@5": ir_measures.Success @ 5,
        "map": ir_measures.AP,
    }
    expected = ir_measures.calc_aggregate(list(theirs.values()), qrels, given_order)
    ours = score(run, qrels, measures_for(KS)).means
    assert {name: ours[name] for name in theirs} == pytest.approx({n: expected[m] for n, m in theirs.items()})


@given(rankings, judgements(lowest=-1), st.integers())
def test_the_order_of_queries_and_judgements_does_not_matter(
    run: dict[str, list[str]], qrels: Grades, seed: int
) -> None:
    shuffled_run, shuffled_qrels = list(run.items()), [(q, list(g.items())) for q, g in qrels.items()]
    dice = random.Random(seed)
    dice.shuffle(shuffled_run)
    dice.shuffle(shuffled_qrels)
    again = score(dict(shuffled_run), {q: dict(g) for q, g in shuffled_qrels}, measures_for(KS))
    assert again == score(run, qrels, measures_for(KS))


def test_a_document_ranked_twice_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="'q': a document is ranked twice"):
        score({"q": ["a", "b", "a"]}, {"q": {"a": 1}}, measures_for(KS))


def test_an_absurd_grade_is_refused_before_it_takes_the_memory() -> None:
    with pytest.raises(UsageError, match="'q' has a grade above"):
        score({"q": ["a"]}, {"q": {"a": 999_999_999}}, measures_for(KS))


def test_without_judgements_there_is_no_mean() -> None:
    with pytest.raises(ValueError, match="no judged query"):
        score({"q": ["a"]}, {}, measures_for(KS))


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ConfigError, match=r"pip install 'veraz\[eval\]'"):
        score({"q": ["a"]}, {"q": {"a": 1}}, measures_for(KS))


def test_names_and_cut_offs() -> None:
    names = [measure.name for measure in measures_for(parse_ks("20, 5,5"))]
    assert names == [
        *("ndcg@5", "ndcg@20", "recall@5", "recall@20", "mrr@5", "mrr@20"),
        *("p@5", "p@20", "success@5", "success@20", "map"),
    ]


@pytest.mark.parametrize("text", ["", "5,", "0", "-1", "5;10", "ten", "5.0", "10001", "99999999999", "５"])
def test_bad_cut_offs(text: str) -> None:
    with pytest.raises(UsageError, match="is no list of cut-offs"):
        parse_ks(text)
