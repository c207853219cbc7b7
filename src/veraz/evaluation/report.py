"""A report as JSON and as files: what a run leaves behind. `runs.files` reads it back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from veraz.evaluation.lines import write_lines
from veraz.evaluation.perquery import FILE_NAME, write_results
from veraz.evaluation.runfile import write_run
from veraz.nouns.evaluation import EvalReport, RankedItem

REPORT_NAME = "report.json"


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


def _rankings(report: EvalReport) -> dict[str, tuple[RankedItem, ...]]:
    return {
        result.query_id: tuple(RankedItem(d.docid, d.score, d.chunk_id) for d in result.ranked)
        for result in report.results
    }
