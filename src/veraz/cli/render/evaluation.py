"""Evaluation runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veraz.cli.render.comparison import measures_table
from veraz.cli.render.console import counted, joined, plain_table, show_pairs, text
from veraz.nouns.evaluation import EvalReport, Figures, GateResult


def show_reports(out: Console, reports: Sequence[EvalReport]) -> None:
    """One column a run. Measures lie in 0..1, higher is better."""
    first = reports[0]
    show_pairs(out, [("dataset", first.dataset), ("queries", f"{first.queries:,} judged")])
    out.print()
    out.print(_measures(reports))
    for report in reports:
        if report.facets:
            out.print()
            out.print(_facets(report))
        if report.outcomes:
            out.print()
            out.print(_outcomes(report))
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
    if any(report.bound is not None for report in reports):
        table.add_row("bound", *(_share(r.bound.share if r.bound else None) for r in reports))
    if any(report.outcome_agreement is not None for report in reports):
        table.add_row("outcome as expected", *(_share(report.outcome_agreement) for report in reports))
    if any(report.authorised_fraction is not None for report in reports):
        table.add_row("readable", *(_share(report.authorised_fraction) for report in reports))
    return table


def _queries(number: int) -> str:
    return counted(number, "query").replace("querys", "queries")


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


def _facets(report: EvalReport) -> Table:
    """The means of each facet, at the cut-off that is nearest to 10."""
    chosen = _few(report.metrics)
    table = plain_table(
        f"{_mode(report)} by facet", "queries", *chosen, "outcome", right=("queries", *chosen, "outcome")
    )
    for name, figures in report.facets.items():
        table.add_row(text(name), f"{figures.queries:,}", *_means(figures, chosen))
    return table


def _few(metrics: Mapping[str, float]) -> list[str]:
    kinds = ("ndcg", "recall", "mrr")
    near = {k: sorted((m for m in metrics if m.startswith(f"{k}@")), key=_from_ten) for k in kinds}
    return [names[0] for names in near.values() if names]


def _from_ten(measure: str) -> int:
    return abs(int(measure.partition("@")[2]) - 10)


def _means(figures: Figures, chosen: Sequence[str]) -> list[str]:
    means = [f"{figures.metrics[m]:.4f}" if m in figures.metrics else "–" for m in chosen]
    return [*means, _share(figures.outcome_agreement)]


def _outcomes(report: EvalReport) -> Table:
    """What was expected, and what came of it where that was something else."""
    table = plain_table(
        f"{_mode(report)} by expected outcome",
        "queries",
        "as expected",
        "else",
        right=("queries", "as expected"),
    )
    for expected in dict.fromkeys(result.expected for result in report.outcomes):
        found = [result for result in report.outcomes if result.expected == expected]
        other = Counter(result.observed for result in found if not result.agrees)
        said = ", ".join(f"{n:,} {observed}" for observed, n in other.most_common())
        table.add_row(expected, f"{len(found):,}", _share(sum(r.agrees for r in found) / len(found)), said)
    return table


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
    for report in reports:
        if report.private:
            chosen = _few(report.private.metrics)
            means = joined([f"{m} {v}" for m, v in zip(chosen, _means(report.private, chosen), strict=False)])
            yield (
                f"{_mode(report)}, the private split of {_queries(report.private.queries)}, not to be chosen by: {means.plain}"
            )
    for warning in dict.fromkeys(w for report in reports for w in report.warnings):
        yield f"warning: {warning}"
    for report in reports:
        for place in (report.per_query, report.trec_run):
            if place:
                yield f"{_mode(report)}: wrote {place}"
