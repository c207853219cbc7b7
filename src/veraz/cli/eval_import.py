"""`veraz eval import`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from veraz.cli.eval import command
from veraz.cli.options import CUTOFFS, LIST, WORDS, subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import console, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError

if TYPE_CHECKING:
    from veraz.evaluation.suites.importing import GradedTrace, SuiteDraft
    from veraz.nouns.suite import Imported, Manifest

FORMATS = ("beir", "trec", "csv", "traces")


@subverb(
    command,
    "import",
    example="veraz eval import nfcorpus/ --format beir --into suites/nutrition --source papers\n"
    "veraz eval import topics.txt qrels.txt --format trec --into suites/trec\n"
    "veraz eval import judged.csv --format csv --into suites/desk --source handbook\n"
    "veraz eval import 6f1c2a --format traces --hits 1,3 --into suites/asked",
)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, type=WORDS)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    required=True,
    help="beir: a folder. trec: topics and qrels. csv: a table, one judgement a row. traces: ids, or a file of lines.",
)
@click.option(
    "--into", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder of the suite."
)
@click.option("--name", type=WORDS, metavar="NAME", help="The suite's name (default: that of the folder).")
@click.option("--description", type=WORDS, metavar="TEXT", help="What it is about.")
@click.option(
    "--license",
    "license_",
    type=WORDS,
    metavar="NAME",
    help="Under which questions and judgements may be used.",
)
@click.option(
    "--source", "sources", type=LIST, metavar="A,B", help="The sources that hold the judged documents."
)
@click.option(
    "--lang", metavar="auto|any|xx", default="auto", help="Language of the questions (default: auto)."
)
@click.option(
    "--hits",
    type=CUTOFFS,
    metavar="1,3",
    help="Of traces given by id: the ranks that answer (default: those that the answer cites).",
)
@click.option(
    "--judge",
    type=WORDS,
    default="import",
    metavar="NAME",
    help="Whose judgements these are (default: import).",
)
@click.pass_obj
def import_(
    state: State,
    /,
    inputs: tuple[str, ...],
    kind: str,
    into: Path,
    name: str | None,
    description: str | None,
    license_: str | None,
    sources: tuple[str, ...] | None,
    lang: str,
    hits: tuple[int, ...] | None,
    judge: str,
) -> None:
    """Make a suite of judgements from elsewhere.

    Rows of a table that have start and end judge that span of the document, and so do traces; their texts must be ingested. What
    judges spans is also added to a suite that is there. A line of a traces file names a trace, as {"trace_id": …, "grades":
    {"1": 2, "3": 0}}, or says it all: {"question": …, "chunks": [{"source", "external_id", "start", "end", "grade"}]}.
    """
    from veraz.nouns.suite import Manifest

    if hits and kind != "traces":
        raise UsageError("--hits is for traces", fix="leave it out")
    traces, draft = _read(kind, inputs, hits)
    manifest = Manifest(
        name=name or into.resolve().name,
        version="1",
        description=description or "",
        license=license_ or "",
        sources=sources or (),
        lang=lang,
        splits=draft.splits,
    )
    imported = _written(state, into, manifest, traces, draft, judge)
    if state.json:
        emit(state, imported)
        return
    out = console()
    out.print(text(f"{imported.folder}: {imported.queries:,} queries, {imported.judgements:,} judgements"))
    for warning in imported.warnings:
        out.print(text(f"warning: {warning}"))


def _read(
    kind: str, inputs: Sequence[str], hits: Sequence[int] | None
) -> tuple[Sequence[GradedTrace], SuiteDraft]:
    from veraz.evaluation.suites import importing

    paths = [Path(given) for given in inputs]
    wanted = {"beir": 1, "trec": 2, "csv": 1}
    if kind in wanted and len(paths) != wanted[kind]:
        said = "topics and qrels" if kind == "trec" else "one folder" if kind == "beir" else "one file"
        raise UsageError(f"{len(paths)} inputs are given", fix=f"--format {kind} takes {said}")
    if kind == "beir":
        return (), importing.from_beir(paths[0])
    if kind == "trec":
        return (), importing.from_trec(paths[0], paths[1])
    if kind == "csv":
        return (), importing.from_csv(paths[0])
    if len(paths) == 1 and paths[0].is_file():
        if hits:
            raise UsageError("--hits is for traces given by id", fix="write the grades into the file")
        return importing.from_traces(paths[0])
    graded = dict.fromkeys(hits or (), 2)
    return [importing.GradedTrace(given, graded, given) for given in inputs], importing.SuiteDraft({})


def _written(
    state: State, into: Path, manifest: Manifest, traces: Sequence[GradedTrace], draft: SuiteDraft, judge: str
) -> Imported:
    """Documents are taken as they are named; spans are bound to their texts, which takes the database."""
    from veraz.evaluation.suites.importing import write_suite

    if not traces and not draft.spans:
        return write_suite(into, manifest, draft)
    with open_bars() as bars:
        return with_engine(
            state,
            lambda engine: engine.import_spans(into, draft, manifest=manifest, graded=traces, judge=judge),
            bars=bars,
        )
