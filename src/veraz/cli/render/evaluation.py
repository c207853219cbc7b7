"""Evaluation runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veraz.cli.render.comparison import measures_table
from veraz.cli.render.console import counted, plain_table, show_pairs, text
from veraz.nouns.evaluation import EvalReport, GateResult


def show_reports(out: Console, reports: Sequence[EvalReport]) -> None:
    """One column a run. Measures lie in 0..1, higher is better."""
    first = reports[0]
    show_pairs(out, [("dataset", first.dataset), ("queries", f"{first.queries:,} judged")])
    out.print()
    out.print(_measures(reports))
    for report in reports:
        if report.comparisons:
            out.print()
            out.print(text(f"{_mode(report)} against the baseline", "bold"))
            out.print(measures_table(report.comparisons))
        if report.gates:
            out.print()
            out.print(_gates(report))
    out.print()
    for line in _remarks(reports):
        out.print(text(line))


def _measures(reports: Sequence[EvalReport]) -> Table:
    names = [_mode(report) for report in reports]
    table = plain_table("measure", *names, right=names)
    for measure in reports[0].metrics:
        table.add_row(measure, *(f"{report.metrics[measure]:.4f}" for report in reports))
    table.add_section()
    for percentile in reports[0].latency_ms:
        table.add_row(f"latency {percentile}", *(_latency(report, percentile) for report in reports))
    for stage in dict.fromkeys(stage for report in reports for stage in report.stages_ms if stage != "total"):
        table.add_row(f"  {stage} p50", *(_stage(report, stage) for report in reports))
    table.add_row("nothing found", *(f"{report.empty:,}" for report in reports))
    if any(report.shortfall for report in reports):
        table.add_row("repeated exactly", *(f"{report.shortfall:,}" for report in reports))
    for arm in dict.fromkeys(arm for report in reports for arm in report.empty_arms):
        table.add_row(f"{arm} arm empty", *(f"{report.empty_arms.get(arm, 0):,}" for report in reports))
    if any(report.failed for report in reports):
        table.add_row("failed", *(f"{report.failed:,}" for report in reports))
    if any(report.authorised_fraction is not None for report in reports):
        table.add_row("readable", *(_share(report.authorised_fraction) for report in reports))
    return table


def _mode(report: EvalReport) -> str:
    return str(report.config.get("mode", report.run_id[:8]))


def _latency(report: EvalReport, percentile: str) -> str:
    value = report.latency_ms.get(percentile)
    return f"{value:,.1f} ms" if value is not None else "–"


def _stage(report: EvalReport, stage: str) -> str:
    found = report.stages_ms.get(stage)
    return f"{found['p50']:,.1f} ms" if found else "–"


def _share(fraction: float | None) -> str:
    return f"{fraction:.1%}" if fraction is not None else "–"


def _gates(report: EvalReport) -> Table:
    against = any(gate.baseline is not None for gate in report.gates)
    more = ("baseline", "difference") if against else ()
    table = plain_table(f"gates of {_mode(report)}", "figure", *more, "", right=("figure", *more))
    for gate in report.gates:
        row: list[str | Text] = [
            text(gate.gate),
            "no such figure" if gate.value is None else f"{gate.value:.4f}",
        ]
        if against:
            row += _against(gate)
        verdict = text("pass", "green") if gate.passed else text("FAIL", "bold red")
        table.add_row(*row, verdict.append(f"  {gate.why}" if gate.why else "", style="default"))
    return table


def _against(gate: GateResult) -> list[str | Text]:
    if gate.baseline is None or gate.value is None:
        return ["–", "–"]
    interval = "" if gate.low is None else f" [{gate.low:+.4f}, {gate.high:+.4f}]"
    return [f"{gate.baseline:.4f}", f"{gate.value - gate.baseline:+.4f}{interval}"]


def _remarks(reports: Sequence[EvalReport]) -> Iterator[str]:
    first = reports[0]
    if first.without_relevant:
        yield f"{counted(len(first.without_relevant), 'judged query')} without anything relevant: counted, as 0".replace(
            "querys", "queries"
        )
    if first.unjudged:
        yield f"{counted(len(first.unjudged), 'query')} without judgements: neither searched nor counted".replace(
            "querys", "queries"
        )
    for warning in dict.fromkeys(w for report in reports for w in report.warnings):
        yield f"warning: {warning}"
    for report in reports:
        for place in (report.per_query, report.trec_run):
            if place:
                yield f"{_mode(report)}: wrote {place}"
