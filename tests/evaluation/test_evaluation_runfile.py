"""TREC run files: other evaluators must come to our figures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import UsageError
from veraz.evaluation.measures import measures_for, score
from veraz.evaluation.runfile import read_run, strictly_falling, write_run
from veraz.nouns.evaluation import RankedItem

THEIRS = {
    "ndcg@10": "ndcg_cut_10",
    "recall@5": "recall_5",
    "p@5": "P_5",
    "success@5": "success_5",
    "map": "map",
}

scores = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1 / 3, -2.5, 1e-12, 1e30]), st.floats(-1e6, 1e6, allow_subnormal=True)
)
run_of_one = st.lists(
    st.tuples(st.sampled_from([f"d{i}" for i in range(30)]), scores), unique_by=lambda row: row[0]
)
runs = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), run_of_one, min_size=1)
qrels_of_all = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4"]),
    st.dictionaries(st.sampled_from([f"d{i}" for i in range(30)]), st.integers(0, 3), min_size=1),
    min_size=1,
)


def items(rows: list[tuple[str, float]]) -> tuple[RankedItem, ...]:
    return tuple(RankedItem(docid, value) for docid, value in rows)


@given(runs, qrels_of_all)
def test_a_written_run_is_scored_the_same_by_trec_eval(
    tmp_path_factory: pytest.TempPathFactory,
    run: dict[str, list[tuple[str, float]]],
    qrels: dict[str, dict[str, int]],
) -> None:
    """Ties, rising scores and scores closer than single precision: the rank order survives in all of them."""
    path = tmp_path_factory.mktemp("run") / "veraz.run"
    write_run(path, {q: items(rows) for q, rows in run.items()}, tag="veraz")
    with path.open() as stream:
        parsed = pytrec_eval.parse_run(stream)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.5", "P.5", "success.5", "map"})
    theirs = evaluator.evaluate(parsed)
    ours = score({q: [docid for docid, _ in rows] for q, rows in run.items()}, qrels, measures_for([5, 10]))
    for query_id, row in theirs.items():
        assert {n: ours.per_query[query_id][n] for n in THEIRS} == pytest.approx(
            {n: row[m] for n, m in THEIRS.items()}
        )
    for name, their_name in THEIRS.items():  # trec_eval -c: the unanswered count as 0
        assert ours.means[name] == pytest.approx(sum(row[their_name] for row in theirs.values()) / len(qrels))


@given(st.lists(scores, max_size=300))
def test_scores_fall_in_single_precision_and_through_text(values: list[float]) -> None:
    falling = strictly_falling(values)
    read_back = [np.float32(f"{value:.9g}") for value in falling]
    assert len(falling) == len(values)
    assert all(left > right for left, right in pairwise(read_back))


def test_scores_that_already_fall_are_kept() -> None:
    assert strictly_falling([2.5, 1.0, 0.25, 0.0, -8.0]) == [2.5, 1.0, 0.25, 0.0, -8.0]


def test_ties_at_zero_do_not_become_denormal_numbers() -> None:
    """A reader that flushes them to zero would tie them again."""
    assert strictly_falling([0.0] * 4) == pytest.approx([0.0, -1e-12, -2e-12, -3e-12], rel=1e-6, abs=0)


def test_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "new" / "veraz.run"
    write_run(path, {"q1": items([("a", 2.0), ("b", 2.0)]), "q2": ()}, tag="t")
    assert path.read_text() == "q1 Q0 a 1 2 t\nq1 Q0 b 2 1.99999988 t\n"


@given(runs)
def test_a_run_reads_back_in_the_order_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, list[tuple[str, float]]]
) -> None:
    path = tmp_path_factory.mktemp("run") / "veraz.run"
    write_run(path, {q: items(rows) for q, rows in run.items()}, tag="veraz")
    order = {q: [item.docid for item in ranking] for q, ranking in read_run(path).items()}
    assert order == {q: [docid for docid, _ in rows] for q, rows in run.items() if rows}


def test_a_foreign_run_is_ordered_by_score_then_rank(tmp_path: Path) -> None:
    path = tmp_path / "foreign.run"
    path.write_text("q Q0 late 3 1.5 x\nq\tQ0\tsecond\t2\t2\tx\nq Q0 first 1 2.0 x\n")
    assert read_run(path) == {"q": items([("first", 2.0), ("second", 2.0), ("late", 1.5)])}


@pytest.mark.parametrize(
    "rankings", [{"q 1": items([("a", 1.0)])}, {"q": items([("my file.md", 1.0)])}, {"q": items([("", 1.0)])}]
)
def test_ids_with_white_space_are_refused_and_leave_no_half_file(
    tmp_path: Path, rankings: dict[str, tuple[RankedItem, ...]]
) -> None:
    with pytest.raises(UsageError, match="cannot stand in a TREC run file"):
        write_run(tmp_path / "r.run", rankings, tag="t")
    assert not (tmp_path / "r.run").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e39])
def test_scores_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        strictly_falling([1.0, value])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 a 1 2.0", "5 columns where 6 are expected"),
        ("q Q0 a one 2.0 t", "rank 'one' or score '2.0' is not a number"),
        ("q Q0 a 1 high t", "rank '1' or score 'high' is not a number"),
        ("q Q0 a 1 nan t", "rank '1' or score 'nan' is not a number"),
        ("q Q0 z 1 2.0 t", "query 'q' ranks document 'z' twice"),
    ],
)
def test_a_bad_line_of_a_run_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.run"
    path.write_text(f"q Q0 z 1 9 t\n{line}\n")
    with pytest.raises(UsageError) as error:
        read_run(path)
    assert f"{path}:2: {message}" in str(error.value)
