"""`veraz index …`"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veraz.cli import interrupt
from veraz.cli.options import AUTHORITY, CUTOFFS, LIST, VerbGroup, subverb
from veraz.cli.output import emit, encode
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import console, counted, duration, size, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import CheckFailed, UsageError
from veraz.nouns.evaluation import GateResult
from veraz.nouns.question import Filters

if TYPE_CHECKING:
    from veraz.engine import AsyncVeraz
    from veraz.nouns.corpus import IndexBuilt
    from veraz.nouns.lexical import LexicalIndexBuilt
    from veraz.nouns.measure import IndexMeasurement, LiveRecall

    SinceType = click.ParamType[datetime]
else:
    SinceType = click.ParamType

USUAL = "exact,hnsw,ivfflat,binary,binary_centred"


class Since(SinceType):
    """`7d`, `12h`, `90m`, or a date, as a moment in UTC."""

    name = "since"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        ago = re.fullmatch(r"(\d{1,5})([dhm])", value)
        if ago:
            unit = {"d": "days", "h": "hours", "m": "minutes"}[ago[2]]
            return datetime.now(UTC) - timedelta(**{unit: int(ago[1])})
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time; write 7d, 12h, 90m or YYYY-MM-DD", parameter, context)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.group(
    "index",
    cls=VerbGroup,
    example="veraz index build\nveraz index measure --suite judged/\nveraz index measure --live --since 7d",
)
def command() -> None:
    """Look after the indexes: build them, and measure what they miss."""


@subverb(
    command,
    "build",
    example="veraz index build --tenant default\n"
    "veraz index build --kind ivfflat --lists 200 --probes 20\n"
    "veraz index build --kind binary --oversampling 16",
)
@click.option(
    "--kind",
    type=click.Choice(["hnsw", "ivfflat", "binary", "none"]),
    help="Give the embedding space this index: a graph, clusters, a graph of signs, or none.",
)
@click.option(
    "--m", type=click.IntRange(2, 100), metavar="N", help="Neighbours of a vector in a graph (default: 16)."
)
@click.option(
    "--ef-construction",
    type=click.IntRange(4, 1000),
    metavar="N",
    help="How far a graph's neighbours are looked for (default: 64).",
)
@click.option(
    "--lists",
    type=click.IntRange(1, 32_768),
    metavar="N",
    help="Clusters of ivfflat (default: by the number of vectors).",
)
@click.option(
    "--probes",
    type=click.IntRange(1, 32_768),
    metavar="N",
    help="Clusters of ivfflat that a search reads (default: by the number of lists).",
)
@click.option(
    "--oversampling",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Candidates of binary that are scored again, as multiples of the pool (default: 8).",
)
@click.pass_obj
def build(state: State, /, kind: Any, **options: int | None) -> None:
    """Merge what recent ingests added to the lexical index of the tenant into its sorted blocks; or, with --kind, build
    the index of the embedding space.

    Searching works before and during either. After a merge, questions read fewer rows. An index of another kind is
    built beside the one that is there and replaces it when it is done; ingests wait meanwhile. Of an index of signs
    (binary) is measured first what it would find of the corpus's own vectors: below 0.95 it is refused, exit code 5.
    """
    if kind is not None:
        _build_of_space(state, kind, options)
        return
    if stated := [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]:
        raise UsageError(f"{', '.join(stated)} without --kind", fix="say of which index: --kind hnsw")
    started = time.perf_counter()
    with interrupt.saying(
        lambda: "stopped: merged analysers are committed; run veraz index build again to continue"
    ):
        merged = dict(with_engine(state, lambda engine: engine.merge_index()))
    seconds = time.perf_counter() - started
    if state.json:
        emit(state, {"merged": merged, "seconds": round(seconds, 3)})
        return
    out = console()
    for analyser, postings in sorted(merged.items()):
        out.print(text(f"{analyser}: {counted(postings, 'posting')} merged"))
    out.print(f"done in {duration(seconds)}" if any(merged.values()) else "nothing to merge")


def _build_of_space(state: State, kind: Any, options: dict[str, int | None]) -> None:
    bars = open_bars()

    def progress(stage: str, done: int, total: int) -> None:
        bars.show(stage, done, total, f"{done:,} of {total:,}" if total > 1 else "")

    async def work(engine: AsyncVeraz) -> IndexBuilt:
        return await engine.build_index(kind, progress=progress, **options)

    with interrupt.saying(lambda: "stopped: the index that was there serves on"):
        made = with_engine(state, work, bars=bars)
    if state.json:
        emit(state, made)
        return
    out = console()
    stated = "".join(f", {name} {value}" for name, value in made.options.items())
    if made.kind == "none":
        out.print(text(f"{made.space} has no index: every vector is compared"))
    else:
        indexed = f"{counted(made.vectors, 'vector')} by {made.distance}, {size(made.size_bytes)}"
        out.print(text(f"{made.space} has {made.kind}{stated}: {indexed}"))
    if made.recall:
        measured = ", ".join(f"{name} {value:.3f}" for name, value in made.recall.items())
        out.print(text(f"measured before it was built: {measured}"))
    for note in made.notes:
        out.print(text(note, "dim"))
    out.print(f"done in {duration(made.seconds)}")


@subverb(
    command,
    "lexical",
    example="veraz index lexical pg_textsearch --tenant default\nveraz index lexical pg_search --drop",
)
@click.argument("engine", type=click.Choice(["pg_textsearch", "pg_search"]))
@click.option("--drop", is_flag=True, help="Take the index away instead.")
@click.option(
    "--shared-statistics",
    is_flag=True,
    help="pg_search alone: one index for all tenants, whose scores tell of words in each of them.",
)
@click.pass_obj
def lexical(state: State, /, engine: Any, drop: bool, shared_statistics: bool) -> None:
    """Build the index that an extension needs to be the lexical arm, or drop it.

    The extension must be installed in the database; `lexical` in [search] then has searches ask it. An index of
    pg_textsearch is of one tenant and language; one of pg_search is of all tenants, and is refused where there are
    several, unless --shared-statistics says that this is wanted. Ingests wait while it is built.
    """

    async def work(opened: AsyncVeraz) -> LexicalIndexBuilt:
        return await opened.build_lexical_index(engine, drop=drop, shared_statistics=shared_statistics)

    with interrupt.saying(lambda: "stopped: the postings answer"):
        made = with_engine(state, work)
    if state.json:
        emit(state, made)
        return
    out = console()
    done = "dropped" if drop else "built"
    for name in made.indexes:
        out.print(text(f"{done} {name}"))
    for note in made.notes:
        out.print(text(note, "dim"))
    taken = f": {size(made.size_bytes)}" if made.indexes and not drop else ""
    out.print(f"done in {duration(made.seconds)}{taken}" if made.indexes else "nothing to drop")


@subverb(
    command,
    "measure",
    example="veraz index measure --queries 100\n"
    "veraz index measure --suite judged/ --methods exact,hnsw --ef-search 40,120,400 --gate 'recall@10>=0.95'\n"
    "veraz index measure --live --since 7d --gate 'recall>=0.95'",
)
@click.option(
    "--k",
    "ks",
    type=CUTOFFS,
    metavar="10,50",
    default="10,50",
    help="Cut-offs of the recall (default: 10,50).",
)
@click.option(
    "--queries",
    type=click.IntRange(1),
    metavar="N",
    help="At most so many queries (default: 100, or all of a suite).",
)
@click.option(
    "--suite", type=click.Path(path_type=Path), metavar="DIR", help="Ask the queries of this judged folder."
)
@click.option(
    "--from",
    "origin",
    type=click.Choice(["traces", "chunks"]),
    help="Ask the questions of stored traces, or chunks themselves (default: traces, if they hold enough questions).",
)
@click.option(
    "--methods", type=LIST, metavar="A,B", default=USUAL, help=f"Of {USUAL} (the default) and hnsw_fresh."
)
@click.option(
    "--ef-search", type=CUTOFFS, metavar="40,120", help="How far HNSW looks (default: as configured)."
)
@click.option(
    "--lists",
    type=click.IntRange(1, 32_768),
    metavar="N",
    help="Clusters of IVFFlat (default: by the number of vectors).",
)
@click.option(
    "--probes",
    type=CUTOFFS,
    metavar="3,12",
    help="Clusters that IVFFlat reads (default: by the number of lists).",
)
@click.option(
    "--oversampling",
    type=CUTOFFS,
    metavar="8,32",
    default="8",
    help="Candidates of binary search, as multiples of the pool (default: 8).",
)
@click.option(
    "--scope",
    type=click.Choice(["store", "tenant"]),
    default="store",
    help="Build over the vectors of every tenant, as the live index is (store, the default), or of this one.",
)
@click.option("--no-lexical", is_flag=True, help="Leave the lexical arm out.")
@click.option(
    "--source",
    "sources",
    type=LIST,
    metavar="A,B",
    help="Ask with this filter: only documents of these sources.",
)
@click.option(
    "--doc-lang",
    "langs",
    type=LIST,
    metavar="A,B",
    help="Ask with this filter: only documents in these languages.",
)
@click.option(
    "--min-authority",
    "authority",
    type=AUTHORITY,
    metavar="1-5",
    help="Ask with this filter: only sources of at least this authority.",
)
@click.option("--seed", type=int, default=1, metavar="N", help="Draw other queries (default: 1).")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the figures as JSON there too."
)
@click.option(
    "--live",
    is_flag=True,
    help="Show the recall of sampled searches instead ([observability] recall_sample).",
)
@click.option(
    "--since",
    type=Since(),
    metavar="7d",
    help="With --live: from then on, as 7d, 12h or a date (default: 7d).",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="'METRIC>=N'",
    help="Fail with exit code 5 unless this holds. May be repeated.",
)
@click.pass_context
def measure(context: click.Context, /, **given: Any) -> None:
    """Measure what approximate indexes miss: recall, time and size of each against the exact scan, on one snapshot.

    The index of the space is measured in its place. The others are built over a copy of the vectors in a transaction that is
    rolled back: nothing of them is ever seen by others, nor stays. With --live: what sampled searches found of the exact result.
    """
    state: State = context.obj
    if given.pop("live"):
        _measure_live(state, context, given)
    else:
        _measure_now(state, given)


def _stated(context: click.Context) -> list[str]:
    """The options that were typed, as they are typed."""
    return [
        max(p.opts, key=len)
        for p in context.command.params
        if p.name in context.params
        and context.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
    ]


def _measure_live(state: State, context: click.Context, given: dict[str, Any]) -> None:
    other = [name for name in _stated(context) if name not in ("--live", "--since", "--gate", "--out")]
    if other:
        raise UsageError(
            f"--live measures nothing now, so {', '.join(other)} cannot count", fix="leave one of them out"
        )
    found = with_engine(state, lambda engine: engine.live_recall(since=given["since"], gates=given["gates"]))
    _print(state, found, given["out"])
    _require(
        found.gates,
        "see on which days: veraz index measure --live; then measure the index: veraz index measure",
    )


def _measure_now(state: State, given: dict[str, Any]) -> None:
    if given.pop("since") is not None:
        raise UsageError("--since without --live", fix="veraz index measure --live --since 7d")
    if given["suite"] is not None and given["origin"] is not None:
        raise UsageError("--suite and --from are two origins", fix="leave one of them out")
    filters = Filters(
        sources=given.pop("sources"), langs=given.pop("langs"), authority=given.pop("authority")
    )
    out, no_lexical = given.pop("out"), given.pop("no_lexical")
    for name in ("ef_search", "probes"):
        given[name] = given[name] or ()
    bars = open_bars()

    def progress(stage: str, done: int, total: int) -> None:
        bars.show(stage, done, total, f"{done:,} of {total:,}" if total > 1 else "")

    async def work(engine: AsyncVeraz) -> IndexMeasurement:
        return await engine.measure_index(filters=filters, lexical=not no_lexical, progress=progress, **given)

    with interrupt.saying(lambda: "stopped: nothing of it stays in the database"):
        found = with_engine(state, work, bars=bars)
    _print(state, found, out)
    _require(found.gates, "see the warnings of the same command, or set a gate that you can defend")


def _print(state: State, found: IndexMeasurement | LiveRecall, out: Path | None) -> None:
    from veraz.cli.render import measure as render

    if out is not None:
        try:
            out.write_bytes(encode(found) + b"\n")
        except OSError as error:
            raise UsageError(
                f"{out}: {error.strerror}", fix="give --out a file that can be written"
            ) from error
    if state.json:
        emit(state, found)
    else:
        render.show(console(), found)
        if out is not None:
            console().print(text(f"wrote {out}"))


def _require(gates: tuple[GateResult, ...], fix: str) -> None:
    from veraz.evaluation.gates import table

    failed = sum(not gate.passed for gate in gates)
    if failed:
        raise CheckFailed(f"{failed} of {len(gates)} gates failed\n{table(gates)}", fix=fix)
