"""`veraz retention …`"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from veraz.cli import interrupt
from veraz.cli.options import VerbGroup, subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import console, counted, duration, show_pairs, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError
from veraz.nouns.lifecycle import Purged, Retention

if TYPE_CHECKING:
    from veraz.engine import AsyncVeraz

    Limit = click.ParamType[int | str]
else:
    Limit = click.ParamType

FOR_EVER = "for-ever"
"""A word, not a number: any number that stood for it could be typed by mistake."""


class Keep(Limit):
    """A number, or `for-ever`."""

    name = "limit"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int | str:
        if value == FOR_EVER:
            return FOR_EVER
        if not str(value).isdecimal():
            self.fail(f"{value!r} is no number from 0 on; write one, or {FOR_EVER}", parameter, context)
        return int(value)


@click.group(
    "retention", cls=VerbGroup, example="veraz retention set --history-days 365\nveraz retention run"
)
def command() -> None:
    """How long a tenant keeps what is no longer current. Without a policy everything stays."""


@subverb(command, "show", example="veraz retention show")
@click.pass_obj
def show(state: State) -> None:
    """Show the policy of the tenant."""
    _print(state, with_engine(state, lambda engine: engine.retention()))


@subverb(
    command,
    "set",
    example="veraz retention set --history-days 365 --history-revisions 3\nveraz retention set --trace-days for-ever",
)
@click.option(
    "--history-days", type=Keep(), metavar="N", help="Days after which a revision that was replaced may go."
)
@click.option(
    "--history-revisions", type=Keep(), metavar="N", help="Newest revisions kept besides the current one."
)
@click.option(
    "--deleted-days", type=Keep(), metavar="N", help="Days after which a deleted document is purged."
)
@click.option("--trace-days", type=Keep(), metavar="N", help="Days after which a trace goes.")
@click.option(
    "--recall-days", type=Keep(), metavar="N", help="Days after which a sample of live recall goes."
)
@click.option("--run-days", type=Keep(), metavar="N", help="Days after which an evaluation run goes.")
@click.pass_obj
def set_policy(state: State, /, **limits: Any) -> None:
    """Change the policy of the tenant; what no option names stays, and for-ever takes a limit away.

    A revision goes only when it is past both limits of the history that are set. Nothing is removed before veraz retention run.
    """
    given = {name: None if n == FOR_EVER else n for name, n in limits.items() if n is not None}
    if not given:
        raise UsageError("nothing to set", fix="name a limit: veraz retention set --history-days 365")

    async def work(engine: AsyncVeraz) -> Retention:
        policy = replace(await engine.retention(), **given)
        await engine.set_retention(policy)
        return policy

    _print(state, with_engine(state, work))


@subverb(command, "run", example="veraz retention run --dry-run\nveraz retention run --batch 100")
@click.option("--dry-run", is_flag=True, help="Count what would go, and remove nothing.")
@click.option(
    "--batch",
    type=click.IntRange(1, 10_000),
    default=200,
    metavar="N",
    help="Rows a transaction (default: 200).",
)
@click.pass_obj
def run(state: State, dry_run: bool, batch: int) -> None:
    """Remove what the policy no longer keeps: old revisions, documents deleted long ago, old traces, evaluation
    runs and samples of recall.

    Each batch is a short transaction. Searching and ingesting go on; a document that is being written is left for the next run.
    """
    bars = open_bars()

    def progress(done: int, total: int) -> None:
        bars.show("retention", done, total, f"{done:,} of {total:,}")

    with interrupt.saying(
        lambda: "stopped: finished batches are committed; run veraz retention run again to continue"
    ):
        purged = with_engine(
            state,
            lambda engine: engine.run_retention(dry_run=dry_run, batch=batch, progress=progress),
            bars=bars,
        )
    if state.json:
        emit(state, purged)
    else:
        _tell(purged)


def _print(state: State, policy: Retention) -> None:
    if state.json:
        emit(state, policy)
        return
    limits = [
        ("history", policy.history_days, "days"),
        ("", policy.history_revisions, "revisions besides the current one"),
        ("deleted documents", policy.deleted_days, "days"),
        ("traces", policy.trace_days, "days"),
        ("samples of recall", policy.recall_days, "days"),
        ("evaluation runs", policy.run_days, "days"),
    ]
    show_pairs(console(), [(name, "for ever" if n is None else f"{n:,} {unit}") for name, n, unit in limits])


def _tell(purged: Purged) -> None:
    kinds = (
        (purged.revisions, "revision"),
        (purged.documents, "deleted document"),
        (purged.traces, "trace"),
        *([(purged.runs, "evaluation run")] if purged.runs else []),
    )
    out = console()
    gone = ", ".join(counted(n, what) for n, what in kinds)
    if purged.recall_samples:
        gone += f", {counted(purged.recall_samples, 'sample')} of recall"
    out.print(
        text(f"would remove {gone}" if purged.dry_run else f"removed {gone} in {duration(purged.seconds)}")
    )
    if purged.tombstones:
        kept = "stays" if purged.tombstones == 1 else "stay"
        out.print(
            text(
                f"{counted(purged.tombstones, 'tombstone')} {kept}: another document names them as its successor"
            )
        )
    if purged.skipped:
        out.print(text(f"{counted(purged.skipped, 'document')} being written: run it again"))
