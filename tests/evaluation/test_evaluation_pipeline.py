"""The whole of an evaluation, with a search made of a table."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from veraz.errors import ConfigError, DatabaseError, UsageError
from veraz.evaluation.dataset import Dataset
from veraz.evaluation.documents import rank_documents
from veraz.evaluation.perquery import read_results
from veraz.evaluation.pipeline import evaluate
from veraz.evaluation.report import report_json, write_report
from veraz.evaluation.runfile import read_run
from veraz.evaluation.runs import files
from veraz.evaluation.runs.comparison import check_comparable_to
from veraz.nouns.evaluation import RankedItem, RankedQuery
from veraz.nouns.suite import QueryRequest

DATASET = Dataset(
    name="mini",
    queries={"q1": "one", "q2": "two", "q3": "three", "q4": "four"},
    qrels={"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 0}},
    corpus_path=None,
    fingerprint="f" * 64,
    unjudged=("q4",),
    without_relevant=("q3",),
    warnings=("something odd",),
)


def chunks(*rows: tuple[str, float]) -> tuple[RankedItem, ...]:
    return tuple(RankedItem(docid, score, f"chunk-{place}") for place, (docid, score) in enumerate(rows))


class Table:
    """A search that looks its answer up; an exception there is raised."""

    def __init__(self, answers: Mapping[str, RankedQuery | Exception]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.running = self.most_at_once = 0

    async def __call__(self, request: QueryRequest) -> RankedQuery:
        text = request.text
        self.asked.append(text)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        answer = self.answers[text]
        if isinstance(answer, Exception):
            raise answer
        return answer


FOUND = RankedQuery(
    chunks(("x", 3.0), ("a", 2.0), ("x", 1.0), ("a", 0.5)), {"lexical": 1.5}, ("semantic",), "found", "t1"
)
NOTHING = RankedQuery((), {"lexical": 0.5}, ("lexical", "semantic"), "nothing")


def test_a_document_stands_where_its_best_chunk_stands() -> None:
    ranked = chunks(("a", 0.9), ("b", 0.9), ("a", 0.8), ("c", 0.1), ("b", 0.05))
    assert rank_documents(ranked) == (ranked[0], ranked[1], ranked[3])
    assert rank_documents(ranked, depth=2) == (ranked[0], ranked[1])
    assert rank_documents(rank_documents(ranked)) == rank_documents(ranked)


async def test_a_report_counts_what_happened() -> None:
    search = Table({"one": FOUND, "two": NOTHING, "three": DatabaseError("connection lost", fix="start it")})
    steps: list[tuple[int, int]] = []
    report = await evaluate(
        DATASET,
        search,
        ks=(10, 5),
        mode="lexical",
        gates=["recall@5>=0.1", "empty==0", "failed<1", "latency_ms.p95<1e9", "authorised_fraction>0.6"],
        progress=lambda done, of: steps.append((done, of)),
        config={"fusion": "rrf"},
        readable={"a", "c", "elsewhere"},
    )
    assert search.asked == ["one", "two", "three"]
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert (report.dataset, report.queries, report.empty, report.failed) == ("mini", 3, 1, 1)
    assert report.metrics["recall@5"] == pytest.approx(0.5 / 3)
    assert report.metrics["mrr@10"] == pytest.approx(0.5 / 3)
    assert report.config == {
        "fusion": "rrf",
        "ks": [5, 10],
        "depth": 10,
        "mode": "lexical",
        "concurrency": 1,
        "unanswered": 0.0,
    }
    assert report.empty_arms == {"lexical": 1, "semantic": 2}
    assert report.authorised_fraction == pytest.approx(2 / 3)
    assert [gate.passed for gate in report.gates] == [True, False, False, True, True]
    assert (report.unjudged, report.without_relevant, report.warnings) == (
        ("q4",),
        ("q3",),
        ("something odd",),
    )
    assert 0 <= report.latency_ms["p50"] <= report.latency_ms["p95"] <= report.latency_ms["p99"]


async def test_each_query_keeps_its_story() -> None:
    search = Table({"one": FOUND, "two": NOTHING, "three": DatabaseError("connection lost")})
    found, nothing, failed = (await evaluate(DATASET, search)).results
    assert [(d.rank, d.docid, d.score, d.grade, d.chunk_id) for d in found.ranked] == [
        (1, "x", 3.0, None, "chunk-0"),
        (2, "a", 2.0, 2, "chunk-1"),
    ]
    assert (found.query_id, found.text, found.outcome, found.trace_id) == ("q1", "one", "found", "t1")
    assert (found.timings_ms, found.empty_arms, found.error) == ({"lexical": 1.5}, ("semantic",), None)
    assert found.measures["mrr@10"] == 0.5
    assert (nothing.outcome, nothing.ranked, nothing.error) == ("nothing", (), None)
    assert (failed.outcome, failed.error, failed.latency_ms) == (
        "failed",
        "DatabaseError: connection lost",
        None,
    )
    assert set(failed.measures.values()) == {0.0}


async def test_rankings_are_cut_at_the_deepest_cut_off() -> None:
    deep = RankedQuery(chunks(("x", 3.0), ("y", 2.0), ("a", 1.0)))
    report = await evaluate(DATASET, Table({"one": deep, "two": NOTHING, "three": NOTHING}), ks=(2,))
    assert [d.docid for d in report.results[0].ranked] == ["x", "y"]
    assert report.metrics["map"] == 0.0


async def test_when_every_query_fails_the_first_error_comes_out() -> None:
    search = Table({text: DatabaseError(f"lost at {text}") for text in DATASET.queries.values()})
    with pytest.raises(DatabaseError, match="lost at one"):
        await evaluate(DATASET, search, concurrency=2)


async def test_a_score_that_is_not_finite_fails_its_query() -> None:
    broken = RankedQuery(chunks(("a", float("nan"))))
    report = await evaluate(DATASET, Table({"one": broken, "two": NOTHING, "three": NOTHING}))
    assert report.results[0].error == "ValueError: document 'a' has score nan"
    assert (report.failed, report.empty) == (1, 2)


async def test_concurrency_is_bounded_and_changes_no_figure() -> None:
    one, two = (Table({"one": FOUND, "two": NOTHING, "three": NOTHING}) for _ in range(2))
    alone = await evaluate(DATASET, one)
    together = await evaluate(DATASET, two, concurrency=2)
    assert (one.most_at_once, two.most_at_once) == (1, 2)
    assert together.metrics == alone.metrics
    assert [r.query_id for r in together.results] == ["q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gates": ["ndcg@7>=1"], "ks": (5,)}, "unknown metric 'ndcg@7'"),
        ({"ks": ()}, "needs a cut-off"),
        ({"ks": (0, 5)}, "needs a cut-off"),
        ({"concurrency": 0}, "needs a cut-off and at least one worker"),
        ({"baseline": {"q1": {"map": 1.0}}}, "judge different queries"),
        ({"baseline": {q: {"map": 1.0} for q in DATASET.qrels}}, "is not in both runs"),
    ],
)
async def test_what_cannot_be_evaluated_is_refused_before_the_first_search(
    options: dict[str, Any], message: str
) -> None:
    search = Table({})
    with pytest.raises(UsageError, match=message):
        await evaluate(DATASET, search, **options)
    assert search.asked == []


async def test_a_missing_extra_is_told_before_the_first_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    search = Table({})
    with pytest.raises(ConfigError, match=r"veraz\[eval\]"):
        await evaluate(DATASET, search)
    assert search.asked == []


async def test_the_files_of_a_run_carry_it_and_serve_as_a_baseline(tmp_path: Path) -> None:
    worse = await evaluate(DATASET, Table({"one": NOTHING, "two": NOTHING, "three": NOTHING}))
    out = tmp_path / "runs" / "worse"
    written = write_report(worse, out=out, trec_run=tmp_path / "worse.run")
    assert written.per_query == str(out / "per_query.jsonl")
    assert read_results(out) == worse.results
    assert json.loads((out / "report.json").read_text()) == report_json(written)

    earlier = files.read_run(out)
    check_comparable_to(earlier, DATASET.fingerprint)
    baseline = earlier.values
    better = await evaluate(
        DATASET, Table({"one": FOUND, "two": NOTHING, "three": NOTHING}), baseline=baseline
    )
    comparison = next(c for c in better.comparisons if c.measure == "mrr@10")
    assert comparison.mean_difference == pytest.approx(0.5 / 3)
    assert (comparison.baseline_mean, comparison.p) == (0.0, 1.0)

    write_report(better, trec_run=tmp_path / "better.run")
    assert [item.docid for item in read_run(tmp_path / "better.run")["q1"]] == ["x", "a"]


async def test_a_baseline_over_another_dataset_is_refused(tmp_path: Path) -> None:
    report = await evaluate(DATASET, Table({"one": FOUND, "two": NOTHING, "three": NOTHING}))
    write_report(report, out=tmp_path)
    with pytest.raises(UsageError, match="other queries, judgements or documents"):
        check_comparable_to(files.read_run(tmp_path), "0" * 64)
    assert files.read_run(tmp_path / "per_query.jsonl").values.keys() == {"q1", "q2", "q3"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("", "no queries"),
        ("{}\n", ":1: not a per-query record"),
        ("nonsense\n", ":1: not a per-query record"),
    ],
)
def test_a_baseline_that_cannot_be_read(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "per_query.jsonl").write_text(content)
    with pytest.raises(UsageError, match=message):
        files.read_run(tmp_path)


async def test_an_id_that_trec_cannot_carry_does_not_lose_the_measurement(tmp_path: Path) -> None:
    spaced = RankedQuery(chunks(("my file.md", 1.0)))
    report = await evaluate(DATASET, Table({"one": spaced, "two": NOTHING, "three": NOTHING}))
    with pytest.raises(UsageError, match=r"'my file\.md' cannot stand in a TREC run file"):
        write_report(report, out=tmp_path, trec_run=tmp_path / "x.run")
    assert read_results(tmp_path)[0].ranked[0].docid == "my file.md"


async def test_the_json_has_the_fields_that_scripts_rely_on() -> None:
    report = await evaluate(DATASET, Table({"one": FOUND, "two": NOTHING, "three": NOTHING}), gates=["map>0"])
    plain = json.loads(json.dumps(report_json(report)))
    fields = {
        "run_id",
        "dataset",
        "queries",
        "config",
        "metrics",
        "per_query",
        "latency_ms",
        "empty",
        "authorised_fraction",
    }
    assert fields | {"gates"} <= plain.keys()
    assert "results" not in plain
    assert {"ndcg@10", "recall@20", "mrr@10", "map", "p@5", "success@5"} <= plain["metrics"].keys()
    assert plain["latency_ms"].keys() == {"p50", "p95", "p99"}
    [gate] = plain["gates"]
    assert gate["gate"] == "map>0"
    assert gate["passed"] is True
    assert gate["value"] == pytest.approx(plain["metrics"]["map"])
