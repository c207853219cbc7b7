"""`veraz eval compare`"""

from __future__ import annotations

import click

from veraz.cli.eval import command as group
from veraz.cli.options import LIST, subverb
from veraz.cli.output import emit
from veraz.cli.render.console import console
from veraz.cli.state import State
from veraz.cli.stored_runs import read_runs


@subverb(
    group,
    "compare",
    example="veraz eval compare runs/before runs/after\nveraz eval compare 3f2a 91bc e07d --measure ndcg@10,recall@20 --json",
)
@click.argument("names", metavar="RUN RUN…", nargs=-1, required=True)
@click.option(
    "--measure", "measures", type=LIST, metavar="A,B",
    help="Measures to compare; the first orders the queries (default: ndcg@10, recall@10, recall@20, mrr@10, map,"
    " as far as all have them).",
)  # fmt: skip
@click.option(
    "--changed", type=click.IntRange(0, 1000), default=10, metavar="N",
    help="How many of the queries that changed most are shown (default: 10).",
)  # fmt: skip
@click.pass_obj
def compare(state: State, names: tuple[str, ...], measures: tuple[str, ...] | None, changed: int) -> None:
    """Compare runs query by query: each further RUN against the first.

    A RUN is the beginning of a stored run's id (veraz eval runs), or a folder that eval run --out wrote; folders need no
    database.
    Differences come with a 95 % bootstrap interval and the p of a paired randomisation test, corrected (Holm) for all
    comparisons made. Runs over other queries, judgements or collections are refused.
    """
    from veraz.cli.render.comparison import show_comparisons
    from veraz.evaluation.runs.comparison import compare_runs

    runs = read_runs(state, names)
    comparisons = compare_runs(runs, measures=measures or (), changed=changed)
    if state.json:
        emit(state, {"baseline": comparisons[0].baseline, "comparisons": comparisons})
    else:
        show_comparisons(console(), comparisons)
