"""A diagnosis in a terminal: the walk of a passage, and what brings it back."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from veraz.cli.render.console import counted, plain_table, show_indented, show_parts, text
from veraz.nouns.diagnosis import Change, Cluster, Diagnosis, StagePassed, SuiteDiagnosis

INDENT = 4
NAMES: Mapping[str, str] = {
    "never_ingested": "never ingested",
    "refused": "refused by an ingest",
    "cut": "cut badly",
    "embedding_missing": "without an embedding",
    "not_current": "not current",
    "deleted": "deleted",
    "filtered": "excluded by a filter",
    "not_permitted": "not permitted",
    "routed": "routed",
    "not_in_lexical_pool": "not in the lexical pool",
    "truncated_by_budget": "left out by the posting budget",
    "not_in_semantic_pool": "not in the semantic pool",
    "approximate_miss": "missed by the approximate index",
    "lost_in_fusion": "lost in fusion",
    "folded": "folded into another document",
    "lost_in_rerank": "lost in reranking",
    "cut_by_k": "cut by k",
    "cut_by_answer_budget": "beyond what an answer reads",
    "under_threshold": "refused under the threshold",
    "not_selected": "not selected for the answer",
    "dropped_by_validation": "dropped by validation",
    "found": "found",
}
"""What a stage is called where it lost a passage."""
GATES: Mapping[str, str] = {
    "never_ingested": "ingested",
    "refused": "parsed",
    "cut": "whole",
    "embedding_missing": "embedded",
    "not_current": "current",
    "deleted": "kept",
    "filtered": "filters",
    "not_permitted": "permissions",
    "routed": "route",
    "not_in_lexical_pool": "lexical arm",
    "truncated_by_budget": "posting budget",
    "not_in_semantic_pool": "semantic arm",
    "approximate_miss": "approximate index",
    "lost_in_fusion": "fusion",
    "folded": "same text once",
    "lost_in_rerank": "rerank",
    "cut_by_k": "first k",
    "cut_by_answer_budget": "evidence",
    "under_threshold": "sufficiency",
    "not_selected": "selection",
    "dropped_by_validation": "validation",
    "found": "found",
}
"""What a stage is called as a place that a passage goes through."""
_SIGNS = {"passed": ("+", "green"), "lost": ("x", "bold red"), "unasked": ("-", "dim")}


def show_diagnosis(out: Console, found: Diagnosis) -> None:
    where = f"{found.source}/" if found.source else ""
    is_found = found.stage == "found"
    style = "bold green" if is_found else "bold red"
    expected = found.expect if found.expect.startswith(where) else f"{where}{found.expect}"
    out.print(text(f"{expected}: {NAMES[found.stage]}", style), soft_wrap=True)
    if not is_found:
        show_indented(out, text(found.detail), INDENT)
    out.print()
    width = max(len(GATES[row.stage]) for row in found.rows) + 2 if found.rows else 0
    for row in found.rows:
        _show_row(out, row, width)
    out.print()
    if found.change is not None:
        _show_change(out, "brings it back", found.change)
        for other in found.others:
            _show_change(out, "or", other)
    elif not is_found:
        show_indented(
            out, text("no single change of the request or the configuration is known to bring it back"), 0
        )
    asked = [found.verb, found.mode, f"question read as {found.lang}" if found.lang else None]
    show_parts(out, [text(part, "dim") for part in asked if part])


def _show_row(out: Console, row: StagePassed, width: int) -> None:
    sign, style = _SIGNS[row.state]
    label = text(f"{sign} {GATES[row.stage]}", style)
    label.pad_right(width + 2 - label.cell_len)
    show_indented(out, text(row.detail, "" if row.state == "lost" else "dim"), width + 2, label=label)


def _show_change(out: Console, before: str, change: Change) -> None:
    tried = " (tried: it comes back)" if change.verified else ""
    show_indented(
        out, text(f"{change.command}{tried}"), 16, label=text(before, "bold" if before != "or" else "dim")
    )


BAR = 24


def show_suite(out: Console, found: SuiteDiagnosis) -> None:
    share = f" ({100 * found.missed / found.judged:.1f} %)" if found.judged else ""
    out.print(
        text(
            f"{found.dataset}: {found.missed:,} of {counted(found.judged, 'relevant document')} over "
            f"{counted(found.queries, 'question')} are not among the first {found.k}{share}",
            "bold",
        ),
        soft_wrap=True,
    )
    for warning in found.warnings:
        show_indented(out, text(f"note: {warning}", "yellow"), 0)
    if not found.clusters:
        return
    out.print()
    table = plain_table("stage", "misses", "", "share", "mended by", right=("misses", "share"))
    most = found.clusters[0].count
    for cluster in found.clusters:
        cause = f" ({cluster.cause})" if cluster.cause else ""
        table.add_row(
            text(f"{NAMES[cluster.stage]}{cause}"),
            str(cluster.count),
            text("█" * max(1, round(BAR * cluster.count / most)), "red"),
            f"{100 * cluster.share:.0f} %",
            text(_remedy(cluster)),
        )
    out.print(table)
    for cluster in found.clusters:
        examples = ", ".join(f"{query} → {name}" for query, name in cluster.examples[:3])
        show_indented(out, text(f"{NAMES[cluster.stage]}: {examples}", "dim"), 0)
    if found.remedy:
        out.print()
        share = f"{found.mended} of {len(found.failures)} misses"
        show_indented(out, text(f"mends most: {found.remedy}, {share}", "bold"), 0)


def _remedy(cluster: Cluster) -> str:
    return f"{cluster.remedy} ({cluster.mended})" if cluster.remedy else "no single change"
