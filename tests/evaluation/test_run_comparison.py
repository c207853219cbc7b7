"""Runs side by side: what may be compared, what changed, and the correction for many comparisons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.judged import made_run, with_results

from veraz.errors import UsageError
from veraz.evaluation.report import write_report
from veraz.evaluation.runs.comparison import changes, compare_runs, setting_changes
from veraz.evaluation.runs.figures import recall_at
from veraz.evaluation.runs.files import is_place, read_run
from veraz.evaluation.statistics import corrected, holm
from veraz.nouns.evaluation import Comparison

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1, "e": 1}, "q4": {"f": 0}}
BEFORE = {"q1": ["a", "x", "b"], "q2": ["x", "c"], "q3": ["x", "y"], "q4": []}
AFTER = {"q1": ["x", "a", "b"], "q2": ["c", "x"], "q3": ["x", "y", "e"], "q4": []}


def test_queries_that_changed_come_with_their_first_relevant_ranks() -> None:
    before, after = made_run(BEFORE, QRELS), made_run(AFTER, QRELS)
    found = changes(before, after, "mrr@10")
    assert [(c.query_id, c.before, c.after, c.rank_before, c.rank_after) for c in found] == [
        ("q1", 1.0, 0.5, 1, 2),
        ("q2", 0.5, 1.0, 2, 1),
        ("q3", 0.0, pytest.approx(1 / 3), None, 3),
    ]
    assert found[0].text == "What about q1?"


def test_each_further_run_is_compared_with_the_first() -> None:
    first, second = made_run(BEFORE, QRELS, run_id="a" * 8), made_run(AFTER, QRELS, run_id="b" * 8)
    third = made_run(BEFORE, QRELS, run_id="c" * 8, config={"mode": "lexical"})
    up, same = compare_runs([first, second, third], measures=("mrr@10", "recall@3"), changed=2)
    assert (up.baseline, up.run, same.run) == ("aaaaaaaa (hybrid)", "bbbbbbbb (hybrid)", "cccccccc (lexical)")
    mrr, recall = up.comparisons
    assert mrr.mean_difference == pytest.approx((-0.5 + 0.5 + 1 / 3) / 4)
    assert (mrr.wins, mrr.losses, recall.wins, recall.losses) == (2, 1, 1, 0)
    assert [c.query_id for c in up.changed] == ["q1", "q2"]
    assert up.differences == pytest.approx({"q1": -0.5, "q2": 0.5, "q3": 1 / 3, "q4": 0.0})
    assert (same.changed, {c.mean_difference for c in same.comparisons}) == ((), {0.0})
    assert [(s.name, s.before, s.after) for s in same.settings] == [("mode", "hybrid", "lexical")]
    ps = [c.p for one in (up, same) for c in one.comparisons]
    assert [c.p_holm for one in (up, same) for c in one.comparisons] == pytest.approx(list(holm(ps)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qrels": {**QRELS, "q9": {"z": 1}}}, r"judge different queries: 1 are in one only \(q9\)"),
        ({"qrels": {**QRELS, "q1": {"a": 1, "b": 1}}}, r"other judgements: 1 queries differ \(q1\)"),
        ({"fingerprint": "0" * 64}, r"other collections, queries or judgements: made \(ffffffff\) and made \(00000000\)"),
    ],
)  # fmt: skip
def test_runs_that_are_not_comparable_say_why(change: dict[str, object], message: str) -> None:
    other = made_run(BEFORE, **{"qrels": QRELS, **change})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        compare_runs([made_run(BEFORE, QRELS), other])


def test_measures_must_be_in_every_run() -> None:
    shallow, deep = made_run(BEFORE, QRELS, ks=(3,)), made_run(AFTER, QRELS, ks=(3, 10))
    with pytest.raises(UsageError, match=r"(?s)ndcg@10 is not in every run.*ndcg@3"):
        compare_runs([shallow, deep], measures=("ndcg@10",))
    (one,) = compare_runs([shallow, deep])
    assert "map" not in {c.measure for c in one.comparisons}, "its depth is not the same"
    assert "rankings were cut at 3 and 10 documents: map is not the same measure" in one.warnings
    with pytest.raises(UsageError, match="one run only"):
        compare_runs([deep])


def test_what_makes_a_comparison_less_than_it_seems_is_said() -> None:
    corpus = {"fingerprint": "1", "documents": 10, "chunks": 30, "newest": "2024-01-01"}
    before = made_run(BEFORE, QRELS, config={"corpus": corpus})
    after = made_run(
        AFTER, QRELS, config={"corpus": {**corpus, "fingerprint": "2", "documents": 9, "newest": "x"}}
    )
    after = replace(after, header=replace(after.header, failed=2, authorised_fraction=0.5))
    (one,) = compare_runs([before, after])
    said = "\n".join(one.warnings)
    assert "2 queries failed and count as 0" in said
    assert "the corpus changed in between: 10 documents in 30 chunks, then 9 in 30" in said
    assert "100.0%, then 50.0%" in said
    assert [s.name for s in one.settings] == ["corpus.fingerprint", "corpus.documents"]


def test_settings_are_compared_to_their_leaves_and_lists_as_one() -> None:
    left = made_run(BEFORE, QRELS, config={"search": {"pool": 100, "k": 1}, "roles": ["a"], "gone": 1}).header
    right = made_run(
        BEFORE, QRELS, config={"search": {"pool": 200, "k": 1}, "roles": ["a", "b"], "new": None}
    ).header
    assert [(s.name, s.before, s.after) for s in setting_changes(left, right)] == [
        ("search.pool", 100, 200),
        ("roles", ["a"], ["a", "b"]),
        ("gone", 1, None),
    ]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.9, 0.5]) == (1.0, 1.0)
    assert holm([]) == ()


@given(st.lists(st.floats(0.0001, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(ps: list[float]) -> None:
    adjusted = holm(ps)
    for p, corrected_p in zip(ps, adjusted, strict=True):
        assert p <= corrected_p <= min(1.0, len(ps) * p) + 1e-12
    by_p = [adjusted[i] for i in np.argsort(ps, kind="stable")]
    assert by_p == sorted(by_p)


def test_holm_rejects_rarely_where_nothing_differs() -> None:
    """Family-wise error over 20 true null hypotheses: at most 5 %, where uncorrected 64 % would find something."""
    random = np.random.default_rng(3)
    rounds = [random.uniform(size=20) for _ in range(2000)]
    assert sum(min(holm(list(ps))) <= 0.05 for ps in rounds) / 2000 == pytest.approx(0.05, abs=0.015)
    assert sum(ps.min() <= 0.05 for ps in rounds) / 2000 == pytest.approx(1 - 0.95**20, abs=0.04)


def test_corrected_fills_in_the_adjusted_p() -> None:
    made = [Comparison("m", 3, 0, 0, 0, 0, 0, p) for p in (0.01, 0.2)]
    assert [c.p_holm for c in corrected(made)] == [0.02, 0.2]


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]), st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=3
    )
)
def test_recall_at_any_depth_is_that_of_the_measures(rankings: dict[str, list[str]]) -> None:
    qrels = {"q1": {"a": 2, "b": 1, "h": 0}, "q2": {"c": 1, "d": 3, "e": 1}, "q3": {"f": 0}}
    run = made_run(rankings, qrels)
    computed = recall_at(run.results, (1, 3, 5, 10))
    assert computed == pytest.approx({k: run.header.metrics[f"recall@{k}"] for k in (1, 3, 5, 10)})


# --- runs in files


def test_a_folder_reads_back_whole(tmp_path: Path) -> None:
    run = made_run(BEFORE, QRELS, facets={"q1": ("table",)})
    written = write_report(with_results(run), out=tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert found.results == run.results
    assert found.header == replace(written, results=())
    assert found.facets == {"q1": ("table",)}
    assert read_run(tmp_path / "run" / "per_query.jsonl").header == found.header


def test_a_per_query_file_alone_tells_what_it_can(tmp_path: Path) -> None:
    run = made_run(BEFORE, QRELS)
    write_report(with_results(run), out=tmp_path)
    (tmp_path / "report.json").unlink()
    header = read_run(tmp_path).header
    assert header.metrics == pytest.approx(run.header.metrics)
    assert (header.run_id, header.fingerprint, header.queries, header.empty) == ("", "", 4, 1)
    assert header.latency_ms == pytest.approx(run.header.latency_ms)
    (one,) = compare_runs([read_run(tmp_path), made_run(AFTER, QRELS)])
    assert "that both judged the same collection is not known" in one.warnings[-1]


def test_files_of_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    write_report(with_results(made_run(BEFORE, QRELS)), out=tmp_path)
    report = (tmp_path / "report.json").read_bytes()
    write_report(with_results(made_run(AFTER, QRELS)), out=tmp_path)
    (tmp_path / "report.json").write_bytes(report)
    with pytest.raises(UsageError, match="are of different runs"):
        read_run(tmp_path)


def test_a_report_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_report(with_results(made_run(BEFORE, QRELS)), out=tmp_path)
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(UsageError, match=r"report\.json: cannot be read"):
        read_run(tmp_path)


def test_what_is_a_place(tmp_path: Path) -> None:
    assert is_place(str(tmp_path))
    assert not is_place("3f2a91bc")
    assert not is_place("a" * 5000)
    assert not is_place("a\0b")
    assert not is_place(" ")
