"""`veraz eval sweep`"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from veraz.cli import interrupt
from veraz.cli.eval import command
from veraz.cli.options import subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import Bars, open_bars
from veraz.cli.render.console import console, counted, duration
from veraz.cli.session import with_engine
from veraz.cli.state import State

STATED = "[SET=]"
KEPT = "stopped: what was loaded, embedded and asked is kept; run it again to continue"
WORDS = {
    "load": ("load", "corpora"),
    "ask": ("ask the arms", "questions"),
    "compute": ("compute", "rankings"),
    "choose": ("choose", "steps"),
}
PACED = 20
"""Steps after which the pace so far says something of what is left."""


@subverb(
    command,
    "sweep",
    example="veraz eval sweep judged/ --grid grid.toml --out sweeps/first\n"
    "veraz eval sweep med/ liveqa/ --grid grid.toml --source liveqa=medquad --qrels liveqa=open.tsv",
)
@click.argument("suites", metavar="DIR…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--grid",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="What to try: a veraz.toml whose values are lists.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar=f"{STATED}SLUG",
    help="Evaluate a set on this ingested source instead of its own corpus. May be repeated, one a set.",
)
@click.option(
    "--in-tenant",
    "tenants",
    multiple=True,
    metavar=f"{STATED}SLUG",
    help="The tenant in which a set is ingested (default: the acting one). May be repeated.",
)
@click.option(
    "--qrels",
    multiple=True,
    metavar=f"{STATED}FILE",
    help="Judgements instead of a folder's own. May be repeated.",
)
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar=f"{STATED}FILE",
    help="Documents for a folder that has none, to be loaded for the sweep. May be repeated.",
)
@click.option(
    "--folds",
    type=click.IntRange(2, 50),
    metavar="N",
    default=5,
    help="Parts of the queries that take turns in being held out (default: 5).",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Another way of dealing queries to folds.")
@click.option(
    "--measure", metavar="NAME", default="ndcg@10", help="The measure that decides (default: ndcg@10)."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="What is kept and written goes there; the same folder goes on (default: sweeps/ and the grid's name).",
)
@click.option(
    "--remove-tenants",
    is_flag=True,
    help="Remove the tenants of the other ways of cutting at the end.",
)
@click.pass_obj
def sweep(
    state: State, /, suites: tuple[Path, ...], grid: Path, out: Path | None, seed: int | None, **settings: Any
) -> None:
    """Measure every combination of a grid file on judged sets, and choose one that is better by more than luck.

    Sets weigh the same. The current configuration stays unless another is proven better on all queries; fusion stays only if it
    beats the better arm alone; what the choice is worth is told on queries that did not choose. Writes veraz.toml with the
    evidence, table.md and sweep.json.
    """
    from veraz.evaluation.sweeps.outcome import sweep_json

    where = out or Path("sweeps") / grid.stem
    if seed is not None:
        settings["seed"] = seed
    with open_bars() as bars, interrupt.saying(lambda: KEPT):
        shown = _Progress(bars)
        report = with_engine(
            state,
            lambda engine: engine.sweep(
                suites, grid=grid, out=where, progress=shown.step, loading=shown.loading, **settings
            ),
            bars=bars,
        )
    if state.json:
        emit(state, sweep_json(report))
    else:
        from veraz.cli.render.sweep import show_sweep
        from veraz.evaluation.sweeps.outcome import by_mean, evidence

        show_sweep(console(), report, tuple(evidence(report)), by_mean(report))


class _Progress:
    """One bar a phase, with what is left at the pace so far."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._started: dict[str, tuple[float, int]] = {}

    def step(self, phase: str, done: int, total: int) -> None:
        name, things = WORDS[phase]
        detail = f"{done:,} of {total:,} {things}{self._left(name, done, total)}"
        self._bars.show(name, done, total, detail)

    def loading(self, of: str, seen: int, total: int | None) -> None:
        name = f"load {of}"
        counts = counted(seen, "document") if total is None else f"{seen:,} of {total:,} documents"
        self._bars.show(name, seen, total, counts + self._left(name, seen, total or 0))

    def _left(self, name: str, done: int, total: int) -> str:
        """Since this bar began, or began anew."""
        started, before = self._started.setdefault(name, (time.monotonic(), done))
        if done < before:
            started, before = self._started[name] = time.monotonic(), done
        elapsed = time.monotonic() - started
        if done - before < PACED or elapsed < 1 or done >= total:
            return ""
        return f" · {duration(elapsed / (done - before) * (total - done))} left"
