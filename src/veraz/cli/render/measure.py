"""What an index misses: figures side by side, and the recall of sampled searches by the day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from veraz.cli.render.console import counted, duration, plain_table, show_pairs, size, text
from veraz.nouns.evaluation import GateResult
from veraz.nouns.measure import IndexFigure, IndexMeasurement, LiveRecall, RecallDay

ORIGINS = {
    "traces": "questions of stored traces, embedded anew",
    "suite": "queries of the suite",
    "chunks": "chunks of the corpus, each left out of its own result",
}
FLOOR = 0.8
"""The recall at which a bar is empty: what lies below shows as nothing."""
WIDTH = 20
TICKS = "▁▂▃▄▅▆▇█"


def show(out: Console, found: IndexMeasurement | LiveRecall) -> None:
    """Recall lies in 0..1, higher is better."""
    if isinstance(found, IndexMeasurement):
        _show_measurement(out, found)
    else:
        _show_live(out, found)
    if found.gates:
        out.print()
        out.print(_gates(found.gates))


def _show_measurement(out: Console, found: IndexMeasurement) -> None:
    copied = f"{counted(found.copied, 'vector')} of {_scope(found)}" if found.copied else None
    permitted = (
        "" if found.permitted == 1 else f", {found.permitted:.1%} of them readable and within the filters"
    )
    show_pairs(
        out,
        [
            ("space", f"{found.space}, {found.dimension} dimensions, {found.settings['distance']}"),
            ("vectors", f"{found.vectors:,} current ones of tenant {found.tenant}{permitted}"),
            ("queries", f"{found.queries:,}: {ORIGINS[found.origin]}"),
            ("built over", copied),
            ("took", duration(found.seconds)),
        ],
    )
    for arm in dict.fromkeys(row.arm for row in found.figures):
        out.print()
        out.print(_figures(arm, [row for row in found.figures if row.arm == arm]))
    out.print()
    for warning in found.warnings:
        out.print(text(f"warning: {warning}", "yellow"))
    for note in found.notes:
        out.print(text(note, "dim"))


def _scope(found: IndexMeasurement) -> str:
    return "every tenant" if found.scope == "store" else f"tenant {found.tenant}"


def _figures(arm: str, rows: Sequence[IndexFigure]) -> Table:
    right = ("k", "recall", "worst", "p50", "p95", "size", "build")
    table = plain_table(
        f"{arm} arm", "settings", "k", "recall", "95 %", "worst", "p50", "p95", "size", "build", right=right
    )
    before: tuple[str, str] | None = None
    for row in rows:
        name = row.method, _settings(row.settings)
        table.add_row(
            *(name if name != before else ("", "")),
            str(row.k),
            text(f"{row.recall:.3f}", "yellow" if row.recall < 0.95 else ""),
            f"{row.low:.3f} … {row.high:.3f}",
            f"{row.worst:.2f}",
            f"{row.p50_ms:,.1f} ms",
            f"{row.p95_ms:,.1f} ms",
            size(row.size_bytes) if row.size_bytes else "–",
            duration(row.build_seconds) if row.build_seconds is not None else "–",
        )
        before = name
    return table


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in settings.items())


def _show_live(out: Console, found: LiveRecall) -> None:
    sampled = f"{found.share:.2%} of searches" if found.share else "none by this configuration"
    show_pairs(
        out,
        [
            ("tenant", found.tenant),
            ("since", found.since.strftime("%Y-%m-%d %H:%M UTC")),
            ("sampled", sampled),
            ("measured", _measured(found)),
            (
                "recall",
                "–" if found.recall is None else f"{found.recall:.4f}, the worst search {found.worst:.2f}",
            ),
            (
                "dropped",
                f"{found.dropped:,}: the queue was full, or the process ended" if found.dropped else None,
            ),
        ],
    )
    if not found.days:
        out.print(text(_nothing(found)))
        return
    for arm in dict.fromkeys(day.arm for day in found.days):
        days = [day for day in found.days if day.arm == arm]
        out.print()
        out.print(text(f"{arm} arm  {sparkline(days)}  {days[0].day} … {days[-1].day}, from {FLOOR} to 1"))
        out.print(_days(days))


def _measured(found: LiveRecall) -> str:
    exact = found.samples - found.approximated
    return f"{counted(found.samples, 'arm')} of searches, {exact:,} of them exact anyway"


def _nothing(found: LiveRecall) -> str:
    if found.share:
        return "no search was sampled in this time"
    return (
        "no search is sampled: set recall_sample of [observability], such as 0.01, where searches are served"
    )


def sparkline(days: Sequence[RecallDay]) -> str:
    """A column a day, of its mean; a day whose searches were all exact is a full one."""
    return "".join(TICKS[round(_height(day.mean) * (len(TICKS) - 1))] for day in days)


def _height(mean: float | None) -> float:
    return 1.0 if mean is None else max(0.0, (mean - FLOOR) / (1 - FLOOR))


def _days(days: Sequence[RecallDay]) -> Table:
    table = plain_table("day", "", "mean", "worst", "searches", "exact anyway", "exact scan",
                        right=("mean", "worst", "searches", "exact anyway", "exact scan"))  # fmt: skip
    for day in days:
        table.add_row(*_day(day))
    return table


def _day(day: RecallDay) -> Iterator[str]:
    yield day.day.isoformat()
    yield ("█" * round(_height(day.mean) * WIDTH)).ljust(WIDTH, "·")
    yield "–" if day.mean is None else f"{day.mean:.4f}"
    yield "–" if day.worst is None else f"{day.worst:.2f}"
    yield f"{day.samples:,}"
    yield f"{day.samples - day.approximated:,}"
    yield "–" if day.exact_ms is None else f"{day.exact_ms:,.1f} ms"


def _gates(gates: Sequence[GateResult]) -> Table:
    table = plain_table("gate", "figure", "", right=("figure",))
    for gate in gates:
        figure = "no such figure" if gate.value is None else f"{gate.value:.4f}"
        table.add_row(
            text(gate.gate), figure, text("pass", "green") if gate.passed else text("FAIL", "bold red")
        )
    return table
