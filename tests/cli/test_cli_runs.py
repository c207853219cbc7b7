"""`veraz eval runs`, `compare` and `report`, and gates against a baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli import cli_nouns as nouns
from tests.cli.conftest import FakeEngine, Run
from tests.support.judged import made_run, with_results

from veraz.cli import session
from veraz.errors import UsageError
from veraz.evaluation.report import write_report
from veraz.nouns.evaluation import GateResult, RunSummary

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1, "e": 1}}
BEFORE = {"q1": ["a", "x", "b"], "q2": ["x", "c"], "q3": ["x"]}
AFTER = {"q1": ["x", "a", "b"], "q2": ["c"], "q3": ["x", "e"]}
EVIL = "\x1b]0;owned\x07 [bold]x[/bold]"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Two runs in folders: before and after."""
    for name, ranked in (("before", BEFORE), ("after", AFTER)):
        run = made_run(ranked, QRELS, texts={"q1": EVIL}, config={"mode": name}, origin=name)
        write_report(with_results(run), out=tmp_path / name)
    return tmp_path


@pytest.fixture
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> None:
        raise AssertionError("a database was opened")

    monkeypatch.setattr(session, "open_engine", refused)


@pytest.mark.usefixtures("_no_engine", "stored")
def test_folders_are_compared_without_a_database(run: Run) -> None:
    result = run("eval", "compare", "before", "after", "--measure", "mrr@10,recall@10")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "baseline before (before)" in said
    assert "mrr@10 0.5000 0.6667 +0.1667" in said
    assert "q2 What about q2? 0.5000 1.0000 2 → 1" in said
    assert "none → 2" in said
    assert "made with other settings mode before → after" in said
    assert "\x1b]0;" not in result.stdout
    assert "[bold]x[/bold]" in result.stdout


@pytest.mark.usefixtures("_no_engine", "stored")
def test_compare_as_json(run: Run) -> None:
    printed = json.loads(
        run("eval", "compare", "before", "after", "before", "--json", "--changed", "1").stdout
    )
    assert printed["baseline"] == "before (before)"
    up, same = printed["comparisons"]
    assert {"measure", "mean_difference", "low", "high", "p", "p_holm", "wins", "losses"} <= up[
        "comparisons"
    ][0].keys()
    assert [c["query_id"] for c in up["changed"]] == ["q3"]
    assert up["settings"] == [{"name": "mode", "before": "before", "after": "after"}]
    assert same["changed"] == []
    assert up["differences"].keys() == {"q1", "q2", "q3"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("before",), "there is one run only"),
        (("before", "after", "--measure", "ndcg@7"), "ndcg@7 is not in every run"),
        ((), "Missing argument"),
    ],
)
@pytest.mark.usefixtures("_no_engine", "stored")
def test_what_cannot_be_compared_exits_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("eval", "compare", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_id_is_looked_up_in_the_database(run: Run, fake: FakeEngine, stored: Path) -> None:  # noqa: ARG001
    fake.answers["eval_run"] = made_run(AFTER, QRELS, run_id="91bc0000")
    result = run("eval", "compare", "91bc", "91bc", "--json")
    assert result.exit_code == 0, result.stderr
    assert [call[1] for call in fake.calls] == [("91bc",), ("91bc",)]
    fake.answers["eval_run"] = UsageError("no run '91bc'", fix="see: veraz eval runs")
    refused = run("eval", "compare", "before", "91bc")
    assert (refused.exit_code, "veraz eval runs" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("_no_engine")
def test_a_report_is_one_file(run: Run, stored: Path) -> None:
    figures = [
        {"method": "hnsw", "k": 10, "recall": 0.98, "p50_ms": 2.0, "size_bytes": 5, "build_seconds": 1.5}
    ]
    (stored / "measured.json").write_text(json.dumps({"figures": figures, "more": 1}))
    arguments = (
        "eval",
        "report",
        "after",
        "--against",
        "before",
        "--html",
        "out/r.html",
        "--index",
        "measured.json",
    )
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "wrote out/r.html\n"
    page = (stored / "out" / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Exact and approximate scans" in page
    assert "before (before)</bdi> (baseline)" in page
    printed = json.loads(run(*arguments, "--json").stdout)
    assert printed["html"] == "out/r.html"


@pytest.mark.parametrize("content", [None, "{}", "[1]", '[{"method": "hnsw"}]', "\xff"])
@pytest.mark.usefixtures("_no_engine")
def test_index_figures_of_another_shape_are_refused(run: Run, stored: Path, content: str | None) -> None:
    if content is not None:
        (stored / "m.json").write_text(content, encoding="latin-1")
    result = run("eval", "report", "after", "--html", "r.html", "--index", "m.json")
    assert result.exit_code == 2
    assert "no figures of index scans" in result.stderr
    assert not (stored / "r.html").exists()


def test_runs_are_listed(run: Run, fake: FakeEngine) -> None:
    fake.answers["eval_runs"] = ()
    assert run("eval", "runs").stdout == "no runs: make one with veraz eval run DIR\n"
    made = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)
    summary = RunSummary(
        "91bc0000-0000", "med", made, "hybrid", 30, {"ndcg@10": 0.71, "map": 0.5}, "eval-med", "f"
    )
    fake.answers["eval_runs"] = (summary, replace(summary, metrics={"map": 0.25}, dataset=EVIL))
    printed = run("eval", "runs", "--dataset", "med", "--top", "5", env={"COLUMNS": "140"})
    assert fake.calls[-1][2] == {"dataset": "med", "top": 5}
    said = " ".join(printed.stdout.split())
    assert "run made dataset mode queries ndcg@10 map" in said
    assert "91bc0000 2024-05-06 07:08 med hybrid 30 0.7100 0.5000" in said
    assert "– 0.2500" in said
    assert "\x1b" not in printed.stdout
    assert json.loads(run("eval", "runs", "--json").stdout)["runs"][0]["run_id"] == "91bc0000-0000"


def test_a_gate_against_a_baseline_shows_what_it_rested_on(run: Run, fake: FakeEngine) -> None:
    gate = GateResult(
        "ndcg@10 not worse",
        "ndcg@10",
        "not worse",
        0.715,
        0.7,
        False,
        0.725,
        -0.05,
        0.001,
        "the mean lost more than 0.01",
    )
    fake.answers["evaluate"] = (replace(nouns.evaluated(), gates=(gate,)),)
    result = run(
        "eval", "run", "judged", "--baseline", "91bc", "--gate", "ndcg@10 not worse", env={"COLUMNS": "140"}
    )
    assert result.exit_code == 5
    assert fake.calls[0][2]["baseline"] == "91bc"
    assert "0.7250 -0.0250 [-0.0500, +0.0010] FAIL the mean lost more than 0.01" in " ".join(
        result.stdout.split()
    )
    assert "1 of 1 gates failed" in result.stderr
    assert "baseline 0.7250, difference -0.0250 [-0.0500, +0.0010]" in result.stderr
