"""`veraz eval runs`"""

from __future__ import annotations

from collections.abc import Sequence

import click

from veraz.cli.eval import command as group
from veraz.cli.options import WORDS, subverb
from veraz.cli.output import emit
from veraz.cli.render.console import console, plain_table, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.nouns.evaluation import RunSummary

USUAL = ("ndcg@10", "recall@10", "recall@20", "mrr@10", "map")
SHOWN = 4


@subverb(group, "runs", example="veraz eval runs\nveraz eval runs --dataset med --top 50 --json")
@click.option(
    "--dataset", type=WORDS, metavar="NAME", help="Only runs over this dataset (its folder's name)."
)
@click.option("--top", type=click.IntRange(1, 1000), default=20, metavar="N", help="How many (default: 20).")
@click.pass_obj
def runs(state: State, dataset: str | None, top: int) -> None:
    """List stored evaluation runs, newest first. A run is named by the beginning of its id.

    Shown are those of the tenant (--tenant) whose roles you hold, and those of collections that eval run loaded.
    """
    found = with_engine(state, lambda engine: engine.eval_runs(dataset=dataset, top=top))
    if state.json:
        emit(state, {"runs": found})
        return
    out = console()
    if not found:
        out.print("no runs: make one with veraz eval run DIR")
        return
    measures = _measures(found)
    table = plain_table("run", "made", "dataset", "mode", "queries", *measures, right=("queries", *measures))
    for run in found:
        table.add_row(
            run.run_id[:8],
            f"{run.started_at:%Y-%m-%d %H:%M}",
            text(run.dataset),
            run.mode,
            f"{run.queries:,}",
            *(f"{run.metrics[m]:.4f}" if m in run.metrics else "–" for m in measures),
        )
    out.print(table)


def _measures(found: Sequence[RunSummary]) -> list[str]:
    known = dict.fromkeys(name for run in found for name in run.metrics)
    return [name for name in USUAL if name in known][:SHOWN] or list(known)[:SHOWN]
