"""`veraz index measure`: what it takes, what it shows, and the codes that it ends with."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import FakeEngine, Run, document

from veraz.nouns.evaluation import GateResult
from veraz.nouns.measure import IndexFigure, IndexMeasurement, LiveRecall, RecallDay

FIGURE = IndexFigure(
    arm="semantic", method="hnsw", settings={"m": 16, "ef_search": 120}, k=10, recall=0.991, low=0.98, high=0.998,
    worst=0.7, complete=0.9, short=0, p50_ms=1.25, p95_ms=2.5, size_bytes=3 * 2**20, build_seconds=None,
)  # fmt: skip
MEASURED = IndexMeasurement(
    tenant="default", space="local-384", dimension=384, vectors=1500, copied=2000, scope="store", permitted=0.5,
    queries=100, origin="traces", settings={"pool": 100, "distance": "inner_product"},
    measured_at=datetime(2024, 5, 6, tzinfo=UTC), seconds=12.5,
    figures=(FIGURE, replace(FIGURE, k=50, recall=0.93), replace(FIGURE, arm="lexical", method="budgeted", settings={})),
    warnings=("hnsw: under the floor",), notes=("a note",),
)  # fmt: skip
DAYS = (
    RecallDay(date(2024, 5, 5), "semantic", 40, 30, 0.9, 0.4, 12.0),
    RecallDay(date(2024, 5, 6), "semantic", 10, 10, 1.0, 1.0, 11.0),
    RecallDay(date(2024, 5, 6), "lexical", 10, 0, None, None, None),
)
LIVE = LiveRecall(
    tenant="default", since=datetime(2024, 5, 1, tzinfo=UTC), share=0.01, recall=0.925, worst=0.4, samples=60,
    approximated=40, dropped=2, arms={"semantic": 0.925, "lexical": 1.0}, days=DAYS,
)  # fmt: skip
FAILED = GateResult("recall>=0.95", "recall", ">=", 0.95, 0.925, passed=False)


def test_figures_are_shown_side_by_side(run: Run, fake: FakeEngine) -> None:
    fake.answers["measure_index"] = MEASURED
    result = run("index", "measure", env={"COLUMNS": "160"})
    assert result.exit_code == 0
    for shown in (
        "local-384, 384 dimensions, inner_product",
        "1,500 current ones of tenant default, 50.0% of them readable and within the filters",
        "100: questions of stored traces, embedded anew",
        "2,000 vectors of every tenant",
        "m 16, ef_search 120",
        "0.991",
        "0.980 … 0.998",
        "3.0 MB",
        "lexical arm",
        "warning: hnsw: under the floor",
        "a note",
    ):
        assert shown in result.stdout, shown


def test_options_reach_the_engine(run: Run, fake: FakeEngine) -> None:
    fake.answers["measure_index"] = MEASURED
    result = run(
        "index", "measure", "--k", "5", "--queries", "7", "--from", "chunks", "--methods", "exact,hnsw", "--ef-search", "40,80",
        "--lists", "9", "--probes", "3", "--oversampling", "4", "--scope", "tenant", "--no-lexical", "--source", "a,b",
        "--min-authority", "3", "--seed", "4", "--gate", "recall@5>=0.9",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    given: dict[str, Any] = fake.calls[0][2]
    assert (given["ks"], given["queries"], given["origin"], given["methods"]) == (
        (5,),
        7,
        "chunks",
        ("exact", "hnsw"),
    )
    assert (given["ef_search"], given["lists"], given["probes"], given["oversampling"]) == (
        (40, 80),
        9,
        (3,),
        (4,),
    )
    assert (given["scope"], given["lexical"], given["seed"], given["gates"]) == (
        "tenant",
        False,
        4,
        ("recall@5>=0.9",),
    )
    assert (given["filters"].sources, given["filters"].authority, given["filters"].langs) == (
        ("a", "b"),
        3,
        None,
    )


def test_the_json_is_one_document_and_goes_to_a_file_too(run: Run, fake: FakeEngine, tmp_path: Path) -> None:
    fake.answers["measure_index"] = MEASURED
    result = run("index", "measure", "--json", "--out", str(tmp_path / "figures.json"))
    assert document(result)["figures"][0]["recall"] == 0.991
    assert json.loads((tmp_path / "figures.json").read_text()) == document(result)
    unwritable = run("index", "measure", "--out", str(tmp_path / "no" / "figures.json"))
    assert unwritable.exit_code == 2
    assert "figures.json: No such file or directory" in unwritable.stderr


def test_a_failed_gate_ends_with_5_after_the_figures(run: Run, fake: FakeEngine) -> None:
    fake.answers |= {
        "measure_index": replace(MEASURED, gates=(FAILED,)),
        "live_recall": replace(LIVE, gates=(FAILED, replace(FAILED, passed=True))),
    }
    for arguments, count in ((("index", "measure"), "1 of 1"), (("index", "measure", "--live"), "1 of 2")):
        result = run(*arguments)
        assert result.exit_code == 5
        assert f"{count} gates failed" in result.stderr
        assert "FAIL" in result.stdout
        assert "hnsw" in result.stdout or "semantic" in result.stdout


def test_the_series_is_shown_by_the_day(run: Run, fake: FakeEngine) -> None:
    fake.answers["live_recall"] = LIVE
    result = run("index", "measure", "--live", env={"COLUMNS": "120"})
    assert result.exit_code == 0
    for shown in (
        "0.9250, the worst search 0.40",
        "60 arms of searches, 20 of them exact anyway",
        "2: the queue was full, or the process ended",
        "semantic arm  ▅█",
        "lexical arm  █",
        "2024-05-05",
        "██████████··········",
        "0.9000",
    ):
        assert shown in result.stdout, (shown, result.stdout)
    assert document(run("index", "measure", "--live", "--json"))["days"][0]["worst"] == 0.4


@pytest.mark.parametrize(
    ("share", "said"), [(0.0, "set recall_sample of [observability]"), (0.01, "no search was sampled")]
)
def test_an_empty_series_says_what_to_do(run: Run, fake: FakeEngine, share: float, said: str) -> None:
    nothing: dict[str, Any] = {"recall": None, "worst": None, "samples": 0, "approximated": 0, "dropped": 0}
    fake.answers["live_recall"] = replace(LIVE, share=share, arms={}, days=(), **nothing)
    assert said in run("index", "measure", "--live").stdout


@pytest.mark.parametrize(
    ("text", "ago"), [("7d", timedelta(days=7)), ("12h", timedelta(hours=12)), ("90m", timedelta(minutes=90))]
)
def test_since_is_an_age_or_a_day(run: Run, fake: FakeEngine, text: str, ago: timedelta) -> None:
    fake.answers["live_recall"] = LIVE
    assert run("index", "measure", "--live", "--since", text).exit_code == 0
    given = fake.calls[-1][2]["since"]
    assert abs(datetime.now(UTC) - ago - given) < timedelta(minutes=1)
    run("index", "measure", "--live", "--since", "2024-05-06")
    assert fake.calls[-1][2]["since"] == datetime(2024, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live", "--queries", "5"], "--live measures nothing now, so --queries cannot count"),
        (["--since", "7d"], "--since without --live"),
        (["--live", "--since", "soon"], "'soon' is no time; write 7d, 12h, 90m or YYYY-MM-DD"),
        (["--suite", "x", "--from", "chunks"], "--suite and --from are two origins"),
        (["--k", "0"], "no list of cut-offs"),
        (["--scope", "world"], "is not one of"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, fake: FakeEngine, arguments: list[str], said: str
) -> None:
    result = run("index", "measure", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert fake.calls == []
