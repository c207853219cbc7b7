"""`veraz show`"""

from __future__ import annotations

from datetime import date

import click

from veraz.cli.options import DATE, WORDS, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console
from veraz.cli.render.shown import show_document
from veraz.cli.session import with_engine
from veraz.cli.state import State


@verb("show", example="veraz show burns-first-aid.md --source demo --tenant demo --chunks")
@click.argument("external_id", type=WORDS)
@click.option("--source", metavar="SLUG", help="The source that holds it, where several hold this id.")
@click.option(
    "--revision", type=click.IntRange(1), metavar="N", help="An earlier revision (default: the current one)."
)
@click.option("--as-of", type=DATE, metavar="DATE", help="The revision that held on this day.")
@click.option(
    "--chunks", is_flag=True, help="Show the chunks too, with their offsets into the revision's text."
)
@click.pass_obj
def command(
    state: State, external_id: str, source: str | None, revision: int | None, as_of: date | None, chunks: bool
) -> None:
    """Show a document: its sections, revisions, and what it replaced or was replaced by.

    Offsets are Unicode code points into the text of the revision. --json always has the chunks.
    """
    shown = with_engine(
        state, lambda engine: engine.show(external_id, source=source, revision=revision, as_of=as_of)
    )
    if state.json:
        emit(state, shown)
    else:
        show_document(console(), shown, chunks=chunks)
