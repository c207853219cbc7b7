"""`veraz ingest`"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from veraz.cli import interrupt
from veraz.cli.count import count_items
from veraz.cli.options import AUTHORITY, DATE, LIST, WORDS, access_options, verb
from veraz.cli.output import emit
from veraz.cli.render.bars import Bars, open_bars
from veraz.cli.render.console import console, counted, duration
from veraz.cli.render.ingest import progress_detail, show_changes, show_failures, show_report
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError

if TYPE_CHECKING:
    from veraz.ingest.tally import Tally
    from veraz.nouns.corpus import IngestReport

SOME_FAILED = 4
STARTING = "reading and embedding"


@verb(
    "ingest",
    example="veraz ingest docs/ --source handbook --authority 4 --license CC-BY-4.0\n"
    "veraz ingest corpus.jsonl.gz --source trials\n"
    "veraz ingest docs/ --source handbook --prune --dry-run\n"
    "curl -s https://example.org/leaflet.txt | veraz ingest - --source leaflets",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "--source", required=True, metavar="SLUG", help="Where the documents come from; made on first use."
)
@click.option("--name", type=WORDS, metavar="TEXT", help="The source's name, as readers see it.")
@click.option("--license", "license_", type=WORDS, metavar="TEXT", help="Licence of the source.")
@click.option("--authority", type=AUTHORITY, metavar="1-5", help="Authority of the source: 5 is the highest.")
@click.option("--base-url", type=WORDS, metavar="URL", help="Where the source's documents are on the web.")
@click.option("--jurisdiction", type=WORDS, metavar="TEXT", help="Where the source's guidance applies.")
@click.option(
    "--lang",
    metavar="auto|xx",
    default="auto",
    help="Language of the documents (default: auto: as they say, else detected).",
)
@click.option(
    "--acl",
    type=LIST,
    metavar="A,B",
    help="Access labels: only these roles may read the documents (default: public).",
)
@access_options
@click.option("--revised-at", type=DATE, metavar="DATE", help="Revision date of the documents.")
@click.option(
    "--supersedes",
    type=WORDS,
    metavar="EXTERNAL_ID",
    help="The document of this source that the one given here replaces.",
)
@click.option(
    "--chunker",
    metavar="NAME",
    help="How the source's documents are cut, remembered for it: structure, parent-child, recursive, sentence-window, fixed, "
    "semantic, late; options follow, as in fixed:size=200,overlap=40.",
)
@click.option(
    "--context",
    type=click.Choice(["none", "llm"]),
    help="Have the model of [chat] write a line about each chunk, to find it by (default: as configured).",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out files of folders that match, as in a .gitignore file; .verazignore files are followed too.",
)
@click.option("--prune", is_flag=True, help="Delete documents of the source that are not found any more.")
@click.option(
    "--yes",
    "confirmed",
    is_flag=True,
    help="Prune even if more than a fifth of the source (and more than three) is gone.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Processes that parse (default: one a processor)."
)
@click.pass_obj
def command(state: State, /, paths: tuple[str, ...], **settings: Any) -> None:
    """Read files, folders, globs, .jsonl(.gz) collections, or - for standard input, into a source.

    Documents that did not change are skipped, so that a run can be repeated or continued at no cost. Each document is
    committed by itself. Exit code 4 when some failed; the rest is kept.
    """
    state.settings["ingest.workers"] = settings.pop("workers")
    run = Run(paths, settings, sys.stdin.buffer if "-" in paths else None)
    with open_bars() as bars, interrupt.saying(run.last_words):
        report = with_engine(state, lambda engine: run(engine, bars), bars=bars)
    if state.json:
        emit(state, report)
    else:
        show_changes(console(), report)
        show_report(console(), report, settings["source"])
    show_failures(report)
    if report.failed:
        click.get_current_context().exit(SOME_FAILED)


@dataclass(slots=True)
class Run:
    """One ingest and what is known of its progress."""

    paths: tuple[str, ...]
    settings: dict[str, Any]
    stdin: BinaryIO | None = None
    total: int | None = None
    tally: Tally | None = None
    started: float = field(default_factory=time.perf_counter)
    ended: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, engine: Any, bars: Bars) -> IngestReport:
        self.started = time.perf_counter()
        bars.show("ingest", 0, None, STARTING)
        counting = asyncio.create_task(self._count(bars))
        try:
            report: IngestReport = await engine.ingest(
                list(self.paths),
                stdin=self.stdin,
                progress=lambda tally: self._progress(tally, bars),
                **_arguments(**self.settings),
            )
        finally:
            self.ended.set()
            counting.cancel()
        return report

    async def _count(self, bars: Bars) -> None:
        with contextlib.suppress(UsageError):  # the ingest itself says it
            self.total = await asyncio.to_thread(
                count_items, self.paths, self.settings["exclude"], self.ended.is_set
            )
        if self.tally is None and self.total is not None:
            bars.show("ingest", 0, self.total, f"{STARTING} {counted(self.total, 'document')}")

    def _progress(self, tally: Tally, bars: Bars) -> None:
        self.tally = tally
        total = None if self.total is None else max(self.total, tally.seen)
        elapsed = time.perf_counter() - self.started
        bars.show(
            "ingest", tally.seen, total, progress_detail(tally.seen, total, tally.counts["chunks"], elapsed)
        )

    def last_words(self) -> str:
        documents = self.tally.counts["documents"] if self.tally else 0
        chunks = self.tally.counts["chunks"] if self.tally else 0
        kept = f"{counted(documents, 'document')} ({counted(chunks, 'chunk')}) committed"
        return (
            f"stopped after {duration(time.perf_counter() - self.started)}: {kept}; run it again to continue"
        )


def _arguments(*, lang: str, license_: str | None, revised_at: date | None, **same: Any) -> dict[str, Any]:
    return {"lang": None if lang == "auto" else lang, "license": license_, "revised_at": revised_at, **same}
