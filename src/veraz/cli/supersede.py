"""`veraz supersede`"""

from __future__ import annotations

from datetime import date

import click

from veraz.cli.options import DATE, WORDS, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, text
from veraz.cli.session import with_engine
from veraz.cli.state import State


@verb(
    "supersede",
    example="veraz supersede fever-2019.md --by fever-2024.md --source handbook\n"
    "veraz supersede fever-2019.md --undo --source handbook",
)
@click.argument("old", type=WORDS)
@click.option(
    "--by", type=WORDS, metavar="EXTERNAL_ID", help="The document of the same source that replaces it."
)
@click.option("--source", required=True, metavar="SLUG", help="The source that holds both.")
@click.option(
    "--since", type=DATE, metavar="DATE", help="The day from which the new one holds (default: today)."
)
@click.option("--undo", is_flag=True, help="It counts again, whatever documents declare.")
@click.option("--as-declared", is_flag=True, help="Take your word back: what documents declare counts.")
@click.pass_obj
def command(
    state: State, old: str, by: str | None, source: str, since: date | None, undo: bool, as_declared: bool
) -> None:
    """Say that a document is replaced by another one, or that it is not.

    Your word counts before what documents declare, until you take it back. Replaced documents are no longer found, and answers
    that cite the successor name them. A successor that is deleted goes on hiding what it replaced: --undo is the way back.
    """
    after = with_engine(
        state,
        lambda engine: engine.supersede(
            old, source=source, by=by, since=since, undo=undo, as_declared=as_declared
        ),
    )
    if state.json:
        emit(state, after)
        return
    how = "as you said" if after.pinned else "as documents declare"
    if after.superseded_by:
        console().print(
            text(f"{old} is superseded by {after.superseded_by} since {after.superseded_from}, {how}")
        )
    else:
        console().print(text(f"{old} is not superseded, {how}"))
