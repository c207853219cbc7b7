"""Runs compared, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from veraz.cli.render.console import one_line, plain_table, show_pairs, text
from veraz.nouns.evaluation import Comparison, RunComparison

QUESTION = 60
VALUE = 70


def show_comparisons(out: Console, comparisons: Sequence[RunComparison]) -> None:
    """A block for each run: measures, the queries that changed most, and what it was made with that the baseline was not."""
    for number, one in enumerate(comparisons):
        if number:
            out.print()
        show_pairs(out, [("baseline", one.baseline), ("run", one.run)])
        out.print()
        out.print(measures_table(one.comparisons))
        if one.changed:
            out.print()
            out.print(_changed(one))
        out.print()
        _settings(out, one)
        for warning in one.warnings:
            out.print(text(f"warning: {warning}"))


def measures_table(comparisons: Sequence[Comparison]) -> Table:
    """One row a measure. p is that of the paired randomisation test, `p Holm` corrected for all comparisons."""
    right = ("before", "after", "difference", "p", "p Holm", "up", "down")
    table = plain_table(
        "measure", "before", "after", "difference", "95 % interval", "p", "p Holm", "up", "down", right=right
    )
    for c in comparisons:
        table.add_row(
            c.measure,
            f"{c.baseline_mean:.4f}",
            f"{c.mean:.4f}",
            f"{c.mean_difference:+.4f}",
            f"{c.low:+.4f} … {c.high:+.4f}",
            f"{c.p:.3f}",
            "–" if c.p_holm is None else f"{c.p_holm:.3f}",
            f"{c.wins:,}",
            f"{c.losses:,}",
        )
    return table


def _changed(one: RunComparison) -> Table:
    head = f"changed most ({one.measure})"
    table = plain_table(
        head, "before", "after", "first relevant", right=("before", "after", "first relevant")
    )
    for c in one.changed:
        question = one_line(c.text)
        short = question if len(question) <= QUESTION else f"{question[: QUESTION - 2]} …"
        table.add_row(
            text(f"{c.query_id}  {short}" if short else c.query_id),
            f"{c.before:.4f}",
            f"{c.after:.4f}",
            f"{_rank(c.rank_before)} → {_rank(c.rank_after)}",
        )
    return table


def _rank(rank: int | None) -> str:
    return "none" if rank is None else str(rank)


def _settings(out: Console, one: RunComparison) -> None:
    if not one.settings:
        out.print("made with the same settings, as far as they are recorded")
        return
    out.print("made with other settings", style="bold")
    show_pairs(out, [(s.name, f"{_value(s.before)} → {_value(s.after)}") for s in one.settings])


def _value(value: Any) -> str:
    shown = "not recorded" if value is None else one_line(str(value))
    return shown if len(shown) <= VALUE else f"{shown[: VALUE - 2]} …"
