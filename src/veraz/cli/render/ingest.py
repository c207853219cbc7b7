"""How an ingest looks while it runs and when it is over."""

from __future__ import annotations

from rich.console import Console

from veraz.cli.render.console import counted, duration, error_console, joined, show_pairs, text
from veraz.nouns.corpus import IngestReport

PACED = 50
"""Documents after which the pace is believed."""
LISTED = 20
"""Failures and warnings that are spelled out; --json has all of them."""


def progress_detail(seen: int, total: int | None, chunks: int, elapsed: float) -> str:
    """`120 of 500 documents · 480 chunks · 31.2 chunks/s · 2 min 05 s left`; seconds since the first document."""
    of = f"{seen:,} of {total:,} documents" if total is not None else counted(seen, "document")
    parts = [of, counted(chunks, "chunk")]
    if chunks and elapsed > 0:
        parts.append(f"{chunks / elapsed:.1f} chunks/s")
    left = seconds_left(seen, total, elapsed)
    if left is not None:
        parts.append(f"{duration(left)} left")
    return " · ".join(parts)


def seconds_left(seen: int, total: int | None, elapsed: float) -> float | None:
    """At the pace so far. None until there is a pace: documents are embedded in windows, so the first few say nothing."""
    if total is None or seen < PACED or elapsed < 1 or seen >= total:
        return None
    return elapsed / seen * (total - seen)


_MARKS = {
    "new": ("A", "green"),
    "changed": ("M", "yellow"),
    "renamed": ("R", "cyan"),
    "deleted": ("D", "red"),
}


def show_changes(out: Console, report: IngestReport) -> None:
    """One line a document, as version control shows them: all of a dry run, and what a real one renamed or deleted."""
    for change in report.changes:
        mark, colour = _MARKS[change.kind]
        name = f"{change.was} → {change.external_id}" if change.was else change.external_id
        out.print(text(f"{mark} {name}", colour), soft_wrap=True)


def show_report(out: Console, report: IngestReport, source: str) -> None:
    documents = [
        (name, getattr(report, name))
        for name in (
            "new",
            "changed",
            "unchanged",
            "renamed",
            "superseded",
            "unsuperseded",
            "deleted",
            "failed",
        )
    ]
    rate = f", {report.chunks / report.seconds:,.1f} chunks/s" if report.chunks and report.seconds else ""
    show_pairs(
        out,
        [
            ("source", source),
            (
                "documents",
                joined([f"{number:,} {name}" for name, number in documents if number or name == "new"]),
            ),
            (
                "written",
                f"{counted(report.documents, 'document')}, {counted(report.chunks, 'chunk')}"
                if report.chunks
                else "",
            ),
            ("vectors", f"{report.embedded:,} embedded, {report.reused:,} reused" if report.chunks else ""),
            (
                "contexts",
                f"{report.contexts:,} written, {report.contexts_reused:,} reused"
                if report.contexts or report.contexts_reused
                else "",
            ),
            ("dry run", "nothing was written" if report.dry_run else ""),
            ("took", f"{duration(report.seconds)}{rate}"),
        ],
    )


def show_failures(report: IngestReport) -> None:
    """On stderr: the first failures, then how many more there are; the same for warnings."""
    out = error_console()
    for warning in report.warnings[:LISTED]:
        out.print(text(f"warning: {warning}", "yellow"), soft_wrap=True)
    _more(out, len(report.warnings), "warning")
    for failure in report.errors[:LISTED]:
        named = (
            f" ({failure.external_id})" if failure.external_id and failure.external_id != failure.path else ""
        )
        out.print(
            text(f"failed to {failure.stage}: {failure.path}{named}: {failure.reason}", "red"), soft_wrap=True
        )
    _more(out, len(report.errors), "failure")


def _more(out: Console, number: int, noun: str) -> None:
    if number > LISTED:
        out.print(f"… and {counted(number - LISTED, f'more {noun}')}; --json lists all")
