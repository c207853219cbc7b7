"""`veraz index …`"""

from __future__ import annotations

import time

import click

from veraz.cli import interrupt
from veraz.cli.options import VerbGroup, subverb
from veraz.cli.output import emit
from veraz.cli.render.console import console, counted, duration, text
from veraz.cli.session import with_engine
from veraz.cli.state import State


@click.group("index", cls=VerbGroup, example="veraz index build")
def command() -> None:
    """Look after the lexical index."""


@subverb(command, "build", example="veraz index build --tenant default")
@click.pass_obj
def build(state: State) -> None:
    """Merge what recent ingests added to the lexical index of the tenant into its sorted blocks.

    Searching works before and during it; after it, questions read fewer rows.
    """
    started = time.perf_counter()
    with interrupt.saying(
        lambda: "stopped: merged analysers are committed; run veraz index build again to continue"
    ):
        merged = dict(with_engine(state, lambda engine: engine.merge_index()))
    seconds = time.perf_counter() - started
    if state.json:
        emit(state, {"merged": merged, "seconds": round(seconds, 3)})
        return
    out = console()
    for analyser, postings in sorted(merged.items()):
        out.print(text(f"{analyser}: {counted(postings, 'posting')} merged"))
    out.print(f"done in {duration(seconds)}" if any(merged.values()) else "nothing to merge")
