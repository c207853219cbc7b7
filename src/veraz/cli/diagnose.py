"""`veraz diagnose`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veraz.cli import interrupt
from veraz.cli.asked import asked_of, where_of
from veraz.cli.options import WORDS, arm_options, questions, verb
from veraz.cli.output import emit
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import console, counted
from veraz.cli.render.diagnosis import show_diagnosis, show_suite
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError


@verb(
    "diagnose",
    example='veraz diagnose "How long should a burn be cooled?" --expect burns-first-aid.md --tenant demo\n'
    'veraz diagnose "metformin eGFR 40" --expect metformin.md#3 --source nih --fact "below 30" -k 5\n'
    "veraz diagnose --suite judged/ --source nih\n"
    "veraz diagnose --suite judged/ --run runs/today",
)
@questions(required=False, source_flag="--filter-source")
@arm_options
@click.option(
    "--expect", type=WORDS, metavar="ID[#N]", help="The document that should be found, or its chunk N."
)
@click.option("--source", metavar="SLUG", help="The source that holds it; with --suite, what is evaluated.")
@click.option("--fact", type=WORDS, metavar="TEXT", help="Text that must be in the passage.")
@click.option(
    "--for",
    "verb_",
    type=click.Choice(["search", "ask"]),
    default=None,
    help="Where it should arrive: among the hits of a search, or in an answer (default: ask).",
)
@click.option(
    "--suite",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="In place of QUESTION: every relevant document of a judged folder that is missed.",
)
@click.option(
    "--qrels", type=click.Path(path_type=Path), metavar="FILE", help="Judgements instead of the folder's own."
)
@click.option(
    "--run",
    "run_",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="What was found, from a folder or per-query file that `eval run --out` wrote.",
)
@click.option(
    "--most", type=click.IntRange(1), default=200, show_default=True, metavar="N",
    help="Misses of a suite that are followed, evenly over all.",
)  # fmt: skip
@click.pass_obj
def command(
    state: State,
    /,
    question: str | None,
    expect: str | None,
    source: str | None,
    fact: str | None,
    verb_: Any,
    suite: Path | None,
    qrels: Path | None,
    run_: Path | None,
    most: int,
    **asked: Any,
) -> None:
    """Say which stage lost the passage that QUESTION should find, and the smallest change that brings it back.

    The options are those of search, but for two: --source names the source of the expected document, and the filter of that
    name is --filter-source. Nothing is written and no trace is left. With --suite or --run the failures of a whole run are
    clustered. Finding a fault is a normal outcome.
    """
    if suite is not None or run_ is not None:
        _whole(state, question, expect, suite, run_, qrels, source, most, asked)
        return
    if question is None or expect is None:
        raise UsageError(
            "a question and what it should find are needed",
            fix='veraz diagnose "question" --expect EXTERNAL_ID, or veraz diagnose --suite DIR',
        )
    request = asked_of(**asked)
    found = with_engine(
        state,
        lambda engine: engine.diagnose(
            question, expect=expect, source=source, fact=fact, verb=verb_ or "ask", **request
        ),
    )
    if state.json:
        emit(state, found)
    else:
        show_diagnosis(console(), found)


def _whole(
    state: State,
    question: str | None,
    expect: str | None,
    suite: Path | None,
    run: Path | None,
    qrels: Path | None,
    source: str | None,
    most: int,
    asked: dict[str, Any],
) -> None:
    if question is not None or expect is not None:
        raise UsageError(
            "one question, and a whole suite", fix="leave QUESTION and --expect out, or --suite and --run"
        )
    with (
        open_bars() as bars,
        interrupt.saying(lambda: "stopped: nothing was written but documents of the corpus loaded so far"),
    ):
        found = with_engine(
            state,
            lambda engine: engine.diagnose_suite(
                suite,
                run=run,
                source=source,
                qrels=qrels,
                k=asked["k"] or 10,
                mode=asked["mode"],
                where=where_of(asked["where"]),
                most=most,
                progress=lambda done, total: bars.show("diagnose", done, total, f"{done:,} of {total:,}"),
                ingest_progress=lambda tally: bars.show(
                    "load the corpus", tally.seen, None, counted(tally.seen, "document")
                ),
            ),
            bars=bars,
        )
    if state.json:
        emit(state, found)
    else:
        show_suite(console(), found)
