"""`veraz search`"""

from __future__ import annotations

from typing import Any

import click

from veraz.cli.asked import asked_of
from veraz.cli.options import arm_options, question_options, verb
from veraz.cli.output import emit
from veraz.cli.render.console import console
from veraz.cli.render.hits import show_result
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError


@verb(
    "search",
    example='veraz search "metformin eGFR 40" -k 5 --explain\n'
    'veraz search "oral rehydration of children" --mode lexical --source nih --revised-from 2022-01-01\n'
    'veraz search "metformin kidneys" --group document -k 5',
)
@question_options
@arm_options
@click.option(
    "--group",
    type=click.Choice(["document"]),
    metavar="document",
    help="Show each document once, with its best chunks as passages; -k counts documents.",
)
@click.option(
    "--per-document",
    type=click.IntRange(0, 1000),
    metavar="N",
    help="With --group: the most chunks of a document, 0 for all that were found (default: [context] per_document).",
)
@click.option(
    "--ef-search",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="How far an index that is a graph is walked (default: as configured).",
)
@click.option(
    "--probes",
    type=click.IntRange(1, 32_768),
    metavar="N",
    help="Clusters that are read where the index has them (default: as configured, or as built).",
)
@click.option(
    "--oversampling",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Candidates of an index of signs, as multiples of the pool (default: as configured, or as built).",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show how each score came about, and the question's terms with their weights.",
)
@click.pass_obj
def command(
    state: State,
    /,
    question: str,
    explain: bool,
    group: Any,
    per_document: int | None,
    ef_search: int | None,
    probes: int | None,
    oversampling: int | None,
    **given: Any,
) -> None:
    """Show the chunks that answer QUESTION best.

    Only current material that the acting roles may read is found. "Quoted words" must stand there side by side, -word
    leaves out what holds it, and OR stands between alternatives of these; a note says how such marks were read. A word
    that nothing holds is read as one that a slip explains, and a note says that too. Scores are higher for better hits,
    and comparable within one result only.
    Finding nothing is a normal outcome.
    """
    if per_document is not None and group is None:
        raise UsageError(
            "--per-document is about grouped results", fix="add --group document, or leave it out"
        )
    if explain and group is not None:
        raise UsageError("--explain is about chunks", fix="leave --group out, or see the hits of --json")
    asked = asked_of(**given)
    result = with_engine(
        state,
        lambda engine: engine.search(
            question,
            **{**asked, "k": 10 if asked["k"] is None else asked["k"]},
            explain=explain,
            group=group,
            per_document=per_document,
            ef_search=ef_search,
            probes=probes,
            oversampling=oversampling,
        ),
    )
    if state.json:
        emit(state, result)
    else:
        show_result(console(), result, explain=explain, tenant=state.tenant, grouped=group is not None)
