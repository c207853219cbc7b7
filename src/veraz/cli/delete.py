"""`veraz delete`"""

from __future__ import annotations

import click

from veraz.cli.options import WORDS, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import ItemError


@verb("delete", example="veraz delete guides/fever.md --source handbook")
@click.argument("external_id", type=WORDS)
@click.option("--source", required=True, metavar="SLUG", help="The source that holds it.")
@click.pass_obj
def command(state: State, external_id: str, source: str) -> None:
    """Remove a document: it is gone from the next query on.

    Its rows are removed later, by the retention policy. Exit code 4 when the source holds no such document.
    """
    deleted = with_engine(state, lambda engine: engine.delete(external_id, source=source))
    if state.json:
        emit(state, {"external_id": external_id, "source": source, "deleted": deleted})
    if not deleted:
        raise ItemError(
            f"source {source!r} holds no such document",
            external_id=external_id,
            stage="delete",
            fix="look its id up with veraz search; a deleted document is already gone",
        )
    if not state.json:
        console().print(text(f"deleted {external_id} of {source}"))
