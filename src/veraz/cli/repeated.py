"""`veraz repeated`"""

from __future__ import annotations

import click

from veraz.cli.options import verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, counted, one_line, show_indented, text
from veraz.cli.session import with_engine
from veraz.cli.state import State

SHOWN = 200


@verb("repeated", example="veraz repeated --source demo --tenant demo")
@click.option("--source", required=True, metavar="SLUG", help="The source to look through.")
@click.option(
    "--least", type=click.IntRange(2), default=2, show_default=True, metavar="N",
    help="Documents that must say it.",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N",
    help="Texts to show, those of most documents first.",
)  # fmt: skip
@click.pass_obj
def command(state: State, source: str, least: int, top: int) -> None:
    """Show what several documents of a source say to the letter: cookie notes and disclaimers, or a warning they share.

    A search shows each such text once, with its owners. Only documents that you may read count.
    """
    found = with_engine(state, lambda engine: engine.repeated(source, least=least, top=top))
    if state.json:
        emit(state, found)
        return
    out = console()
    if not found.texts:
        out.print(f"no text of {source} is in {least} documents or more")
        return
    for shared in found.texts:
        head = text(counted(shared.documents, "document"), "bold").append(
            f", such as {one_line(shared.example)}", style="dim"
        )
        show_indented(out, head, 0)
        body = one_line(shared.body)
        show_indented(out, text(body if len(body) <= SHOWN else f"{body[:SHOWN]} …"), 4)
    share = f"{100 * found.repeated_passages / found.all_passages:.1f} %"
    everything = counted(found.all_passages, "passage")
    out.print(f"\n{found.repeated_passages:,} of {everything} ({share}) are in another document too")
