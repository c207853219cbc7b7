"""`veraz eval …`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veraz.cli import interrupt
from veraz.cli.asked import where_of
from veraz.cli.options import CUTOFFS, WORDS, VerbGroup, rerank_option, subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import Bars, open_bars
from veraz.cli.render.console import console, counted
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.nouns.evidence import Mode

MODES: tuple[Mode, ...] = ("hybrid", "lexical", "semantic")


@click.group("eval", cls=VerbGroup, example="veraz eval run judged/ --k 10 --gate 'ndcg@10>=0.7'")
def command() -> None:
    """Measure retrieval on judged queries."""


@subverb(
    command,
    "run",
    example="veraz eval run judged/ --mode all --gate 'ndcg@10>=0.7' --gate 'latency_ms.p95<200'\n"
    "veraz eval run judged/ --source nih --qrels judged/qrels/dev.tsv --out runs/today --baseline runs/before",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--source", metavar="SLUG", help="Evaluate this ingested source; without it, the folder's own corpus."
)
@click.option(
    "--qrels", type=click.Path(path_type=Path), metavar="FILE", help="Judgements instead of the folder's own."
)
@click.option(
    "--k",
    "ks",
    type=CUTOFFS,
    metavar="5,10",
    default="5,10,20,100",
    help="Cut-offs of the measures (default: 5,10,20,100).",
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice([*MODES, "all"]),
    multiple=True,
    help="Which arms answer (default: hybrid). May be repeated; all for the three.",
)
@rerank_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the report and the per-query results there.",
)
@click.option(
    "--trec-run",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the rankings as a TREC run file.",
)
@click.option(
    "--baseline",
    metavar="RUN",
    help="Compare with an earlier run: the beginning of its id, or a folder that --out wrote.",
)
@click.option(
    "--filter",
    "where",
    type=WORDS,
    multiple=True,
    metavar="EXPR",
    help="Have every query look only in what meets this expression, beside its own filters.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="CONDITION",
    help="Fail with exit code 5 unless this holds: 'ndcg@10>=0.7', 'ndcg@10>=baseline-0.01', 'ndcg@10 not worse'. May be"
    " repeated.",
)
@click.pass_obj
def run(state: State, /, folder: Path, modes: tuple[Any, ...], **settings: Any) -> None:
    """Evaluate on DIR: queries.jsonl, qrels.tsv, and to be loaded corpus.jsonl[.gz] (the BEIR layout).

    A folder with a corpus is loaded into a tenant of its own; without one, what is ingested is evaluated. Every judged
    query counts in every mean, as 0 when it found nothing.
    """
    from veraz.cli.render.evaluation import show_reports
    from veraz.evaluation.gates import require
    from veraz.evaluation.report import report_json

    where = where_of(settings.pop("where"))
    chosen: tuple[Mode, ...] = MODES if "all" in modes else tuple(dict.fromkeys(modes)) or ("hybrid",)
    with (
        open_bars() as bars,
        interrupt.saying(lambda: "stopped: documents loaded so far are kept; run it again to continue"),
    ):
        reports = with_engine(
            state,
            lambda engine: engine.evaluate(folder, modes=chosen, where=where, **_progress(bars), **settings),
            bars=bars,
        )
    if state.json:
        documents = [report_json(report) for report in reports]
        emit(state, documents[0] if len(documents) == 1 else {"runs": documents})
    else:
        show_reports(console(), reports)
    require([gate for report in reports for gate in report.gates])


def _progress(bars: Bars) -> dict[str, Any]:
    """What the evaluation reports: documents of the corpus while it is loaded, then queries."""
    return {
        "progress": lambda done, total: bars.show("evaluate", done, total, f"{done:,} of {total:,} queries"),
        "ingest_progress": lambda tally: bars.show(
            "load the corpus", tally.seen, None, counted(tally.seen, "document")
        ),
    }


# Each hangs its verbs below the group above, so that must exist before they are imported.
from veraz.cli import (  # noqa: E402, F401
    eval_check,
    eval_compare,
    eval_import,
    eval_judge,
    eval_report,
    eval_runs,
    eval_sweep,
)
