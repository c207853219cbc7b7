"""Runs that lie in files: the folder that `eval run --out` wrote, or its per-query file alone. No database is needed."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.perquery import FILE_NAME, read_results
from veraz.evaluation.report import REPORT_NAME
from veraz.evaluation.runs.figures import latencies, means, stage_latencies
from veraz.nouns.evaluation import EvalReport, QueryResult, StoredRun

SAME = 1e-9


def is_place(name: str) -> bool:
    """Whether `name` is a path that exists: it is then read as a run, and no id is looked for."""
    try:
        return bool(name.strip()) and Path(name).exists()
    except (OSError, ValueError):
        return False


def read_run(place: Path) -> StoredRun:
    """The run in a folder or per-query file. Without a report.json beside it, the header holds what the queries tell.

    Raises UsageError for what cannot be read, and where report.json and per-query file are not of one run: a run that was
    stopped while it wrote.
    """
    results = read_results(place)
    header = (place if place.is_dir() else place.parent) / REPORT_NAME
    report = _read_header(header) if header.is_file() else _header(place, results)
    _check_same_run(header, report, results)
    return StoredRun(report, results, str(place))


def _read_header(path: Path) -> EvalReport:
    try:
        return replace(msgspec.json.decode(path.read_bytes(), type=EvalReport), results=())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: cannot be read: {error}", fix="give a folder that `eval run --out` wrote"
        ) from error


def _check_same_run(path: Path, report: EvalReport, results: tuple[QueryResult, ...]) -> None:
    found = means({r.query_id: r.measures for r in results})
    differing = [
        name
        for name, value in report.metrics.items()
        if not math.isclose(found.get(name) or 0.0, value, rel_tol=0, abs_tol=SAME)
    ]
    if report.queries != len(results) or differing:
        raise UsageError(
            f"{path} and {FILE_NAME} beside it are of different runs",
            fix="evaluate again with --out, or give the per-query file a folder of its own",
        )


def _header(place: Path, results: tuple[QueryResult, ...]) -> EvalReport:
    times = [r.latency_ms for r in results if r.latency_ms is not None]
    return EvalReport(
        run_id="",
        dataset=place.resolve().parent.name if place.is_file() else place.resolve().name,
        fingerprint="",
        started_at=datetime.fromtimestamp(place.stat().st_mtime, UTC),
        queries=len(results),
        config={},
        metrics={n: v for n, v in means({r.query_id: r.measures for r in results}).items() if v is not None},
        latency_ms=latencies(times),
        empty=sum(not (r.ranked or r.error) for r in results),
        failed=sum(r.error is not None for r in results),
        empty_arms={},
        authorised_fraction=None,
        gates=(),
        without_relevant=(),
        unjudged=(),
        warnings=(),
        shortfall=sum(bool(r.shortfall) for r in results),
        stages_ms=stage_latencies(r.timings_ms for r in results),
    )
