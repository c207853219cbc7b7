"""`veraz why`"""

from __future__ import annotations

import click

from veraz.cli.options import WORDS, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console
from veraz.cli.render.trace import show_trace
from veraz.cli.session import with_engine
from veraz.cli.state import State


@verb("why", example="veraz why 3f2c9a10\nveraz why 3f2c9a10 --json")
@click.argument("trace_id", type=WORDS)
@click.pass_obj
def command(state: State, trace_id: str) -> None:
    """Explain a search or an answer from its stored trace, by its id or the beginning of it.

    A trace holds ids, offsets, scores, settings and timings, and no text of documents: what is quoted here is read now,
    under your own rights, or said to be purged or not permitted.
    """
    explained = with_engine(state, lambda engine: engine.explain_trace(trace_id))
    if state.json:
        emit(state, explained)
    else:
        show_trace(console(), explained)
