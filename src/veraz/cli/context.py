"""`veraz context`"""

from __future__ import annotations

from typing import Any

import click

from veraz.cli.asked import asked_of
from veraz.cli.options import arm_options, question_options, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, error_console
from veraz.cli.render.context import show_context
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError


@verb(
    "context",
    example='veraz context "metformin and kidneys" --budget 1500\n'
    'veraz context "metformin and kidneys" -k 5 --source nih --format json',
)
@question_options
@arm_options
@click.option(
    "--budget",
    type=click.IntRange(16, 1_000_000),
    metavar="TOKENS",
    help="The most tokens of all passages with their labels (default: [context] budget).",
)
@click.option(
    "--neighbours",
    type=click.IntRange(0, 50),
    metavar="N",
    help="Chunks that are added before and behind each hit (default: as configured).",
)
@click.option(
    "--sections/--no-sections",
    default=None,
    help="Whether a hit brings its whole section where that fits (default: as configured).",
)
@click.option(
    "--per-document",
    type=click.IntRange(0, 1000),
    metavar="N",
    help="The most hits of a document, 0 for no limit (default: as configured).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    help="What stdout has: the passages under their labels (default), or what --json prints.",
)
@click.pass_obj
def command(
    state: State,
    /,
    question: str,
    budget: int | None,
    neighbours: int | None,
    sections: bool | None,
    per_document: int | None,
    form: str | None,
    **given: Any,
) -> None:
    """Print the passages that a reader of QUESTION needs, such as a chat model.

    The best hits come first, then what stands around them, as far as the budget goes. Tokens are the embedder's. Each
    passage stands under a line that says where it is from. Only passages go to stdout; what was left out, and why, and
    how much the passages can answer, goes to stderr. JSON has all of it, with the offsets of every chunk.
    Finding nothing is a normal outcome.
    """
    if form == "text" and state.json:
        raise UsageError("--json and --format text say two things", fix="leave one of them out")
    state.json = state.json or form == "json"
    asked = asked_of(**given)
    found = with_engine(
        state,
        lambda engine: engine.context(
            question,
            **asked,
            budget=budget,
            neighbours=neighbours,
            sections=sections,
            per_document=per_document,
        ),
    )
    if state.json:
        emit(state, found)
    else:
        show_context(console(), error_console(), found, tenant=state.tenant)
