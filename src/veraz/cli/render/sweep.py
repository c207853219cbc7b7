"""A sweep's outcome: why this configuration, and the best of the others."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from veraz.cli.render.console import plain_table, text
from veraz.nouns.sweep import Measured, SweepReport

SHOWN = 12
"""Configurations on screen; table.md has all."""


def show_sweep(
    out: Console, report: SweepReport, evidence: Sequence[str], by_mean: Sequence[Measured]
) -> None:
    """`evidence` in lines, then the best by mean, with the chosen and the current one whatever their place."""
    for line in evidence:
        out.print(text(line))
    out.print()
    out.print(_table(report, by_mean))
    left = len(by_mean) - SHOWN
    if left > 0:
        out.print(text(f"and {left:,} more: {report.out}/table.md", "dim"))
    out.print()
    for warning in report.warnings:
        out.print(text(f"warning: {warning}"))
    work = ", ".join(f"{count:,} {what}" for what, count in sorted(report.work.items()))
    seconds = ", ".join(f"{phase} {spent:.1f} s" for phase, spent in report.seconds.items())
    out.print(text(f"{work}; {seconds}"))
    out.print(text(f"wrote {report.out}/veraz.toml, table.md and sweep.json"))


def _table(report: SweepReport, by_mean: Sequence[Measured]) -> Table:
    numbers = (report.measure, "recall@20", "less current", "corrected p", "arms ms")
    table = plain_table("", "configuration", *numbers, right=numbers)
    named = (report.chosen, report.current)
    shown = [m for place, m in enumerate(by_mean) if place < SHOWN or m in named]
    for measured in shown:
        mark = "chosen" if measured.number == report.choice.number else ""
        table.add_row(
            text(mark, "bold"),
            text(measured.name, "bold" if mark else ""),
            f"{measured.means[report.measure]:.4f}",
            f"{measured.means['recall@20']:.4f}",
            "" if measured.is_current else f"{measured.against_current.difference:+.4f}",
            "" if measured.is_current else f"{measured.beats:.3f}",
            " + ".join(f"{ms:.1f}" for ms in measured.arms_ms.values()),
        )
    return table
