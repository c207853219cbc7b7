"""A report as JSON and as files: what a run leaves behind, and how a later run reads it as its baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import write_lines
from veraz.evaluation.perquery import FILE_NAME, read_results, write_results
from veraz.evaluation.runfile import write_run
from veraz.nouns.evaluation import EvalReport, RankedItem

REPORT_NAME = "report.json"


class _Header(msgspec.Struct):
    fingerprint: str


def report_json(report: EvalReport) -> dict[str, Any]:
    """The report as plain values for JSON, without the per-query results."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(replace(report, results=())))
    del plain["results"]
    return plain


def write_report(report: EvalReport, *, out: Path | None = None, trec_run: Path | None = None) -> EvalReport:
    """Writes per_query.jsonl and report.json into `out` and a TREC run file, and returns the report with
    their paths.

    Raises UsageError for a place that cannot be written, or for an id that a TREC file cannot carry (after
    `out` is complete, so that no measurement is lost).
    """
    if out:
        report = replace(report, per_query=str(out / FILE_NAME))
        write_results(out / FILE_NAME, report.results)
    if trec_run:
        report = replace(report, trec_run=str(trec_run))
    if out:
        write_lines(
            out / REPORT_NAME, [msgspec.json.format(msgspec.json.encode(report_json(report))).decode()]
        )
    if trec_run:
        write_run(trec_run, _rankings(report), tag=f"veraz-{report.run_id}")
    return report


def read_baseline(run: Path, *, fingerprint: str | None = None) -> dict[str, dict[str, float]]:
    """Per-query measures of an earlier run (its folder or per-query file): query id → measure name → value.

    Raises UsageError for an unreadable run, or, where the run's folder says so, one over a dataset with
    another fingerprint.
    """
    header = run / REPORT_NAME
    if fingerprint and header.is_file():
        _check_fingerprint(header, fingerprint)
    return {result.query_id: dict(result.measures) for result in read_results(run)}


def _rankings(report: EvalReport) -> dict[str, tuple[RankedItem, ...]]:
    return {
        result.query_id: tuple(RankedItem(d.docid, d.score, d.chunk_id) for d in result.ranked)
        for result in report.results
    }


def _check_fingerprint(header: Path, fingerprint: str) -> None:
    try:
        earlier = msgspec.json.decode(header.read_bytes(), type=_Header)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            f"{header}: cannot be read: {error}", fix="give a folder that `eval run --out` wrote"
        ) from error
    if earlier.fingerprint != fingerprint:
        raise UsageError(
            f"{header}: that run had other queries, judgements or documents",
            fix="evaluate the baseline again on this dataset",
        )
