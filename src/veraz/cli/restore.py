"""`veraz restore`"""

from __future__ import annotations

import click

from veraz.cli.options import WORDS, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, text
from veraz.cli.session import with_engine
from veraz.cli.state import State


@verb("restore", example="veraz restore guides/fever.md --source handbook")
@click.argument("external_id", type=WORDS)
@click.option("--source", required=True, metavar="SLUG", help="The source that holds it.")
@click.pass_obj
def command(state: State, external_id: str, source: str) -> None:
    """Bring a deleted document back, as it was: labels, current revision and what it superseded.

    An erased document has no text to bring back: its id may be ingested again. Exit code 4 when nothing can be restored.
    """
    restored = with_engine(state, lambda engine: engine.restore(external_id, source=source))
    if state.json:
        emit(state, restored)
    elif restored.text_is_gone:
        console().print(
            text(f"{external_id} of {source} was erased: its text is gone, and it may be ingested again")
        )
    else:
        console().print(text(f"restored {external_id} of {source}"))
