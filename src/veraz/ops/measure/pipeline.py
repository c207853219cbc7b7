"""Measuring indexes: the exact scan, the live index in its place, and others over a copy, all on one snapshot and in one
transaction that is rolled back. Whatever ends it, nothing of it stays."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

import msgspec
import numpy as np
from psycopg.errors import InsufficientPrivilege

from veraz.db.session import Connection, Database, Experiment
from veraz.errors import UsageError
from veraz.nouns.corpus import Identity, Vectors
from veraz.nouns.distance import Distance
from veraz.nouns.measure import IndexFigure, IndexMeasurement, Method, Origin
from veraz.nouns.question import Filters
from veraz.ops.measure import methods, store
from veraz.ops.measure.methods import Choices, Setting, Shape, settings_of
from veraz.ops.measure.recall import Answers, Interval, Ranked, figure, ordered, warnings
from veraz.providers.ports import Embedder

Progress = Callable[[str, int, int], None]
"""Called with the stage, what is done and the total."""
WARM = 3
"""Queries of each method that are asked before the clock counts."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One query. `text` is what the lexical arm is asked, under `analyser`; `left_out` the chunk that the query was made of."""

    vector: Vectors
    text: str | None
    analyser: str
    left_out: UUID | None = None


@dataclass(frozen=True, slots=True)
class Probes:
    origin: Origin
    probes: Sequence[Probe]
    notes: tuple[str, ...] = ()


AnalyserOf = Callable[[str, str | None], Awaitable[str]]
"""The analyser of a question, whose language may be known."""
ENOUGH = 20
"""Questions that traces must hold to stand for what is asked."""
WORDS = 12
"""Of a chunk, asked of the lexical arm in a question's place."""
TOGETHER = 32
"""Questions embedded in one call."""


async def gather(
    database: Database,
    identity: Identity,
    embedder: Embedder,
    space_id: int,
    *,
    choices: Choices,
    filters: Filters,
    texts: Sequence[str] | None,
    origin: Origin | None,
    analyser_of: AnalyserOf,
    progress: Progress | None,
) -> Probes:
    """Queries of a suite (`texts`); else questions of stored traces, if there are enough of them or `origin` says so, embedded
    anew; else chunks, each as the question for its own neighbours, itself left out. No transaction is open while the embedder
    works. Raises UsageError where there is none."""
    report = progress or (lambda _stage, _done, _total: None)
    known: list[tuple[str, str | None]] = []
    chunks: list[store.ChunkRow] = []
    if texts is not None:
        known = [(text, None) for text in drawn(texts, choices)]
    else:
        async with database.transaction(identity) as connection:
            if origin != "chunks":
                rows = await store.sample_questions(connection, choices.seed, choices.queries)
                known = [(row.question, row.lang) for row in rows]
            if origin != "traces" and len(known) < min(ENOUGH, choices.queries):
                known = []
                chunks = await store.sample_chunks(
                    connection, space_id, filters, choices.seed, choices.queries
                )
    if chunks:
        return Probes("chunks", [await _of_chunk(chunk, analyser_of) for chunk in chunks], _OF_CHUNKS)
    if not known:
        raise _no_question() if origin == "traces" else _nothing(identity)
    return await _embedded(known, embedder, analyser_of, report, "traces" if texts is None else "suite")


def _no_question() -> UsageError:
    return UsageError(
        "no trace that these roles may read holds a question",
        fix="give a folder with judged queries (--suite DIR), or measure with the corpus itself: --from chunks",
    )


def _nothing(identity: Identity) -> UsageError:
    return UsageError(
        f"tenant {identity.tenant} has no vector that these roles may read and these filters let through",
        fix="ingest documents first, or check --tenant, --roles and the filters",
    )


_OF_CHUNKS = (
    "the queries are chunks of the corpus, each left out of its own result: real questions lie farther away, and an index may "
    "miss more of theirs",
    f"the lexical arm was asked the first {WORDS} words of each of these chunks",
)


def drawn(texts: Sequence[str], choices: Choices) -> list[str]:
    """At most `queries` different texts, in an order that the seed decides."""
    distinct = list(dict.fromkeys(texts))
    random.Random(choices.seed).shuffle(distinct)
    return distinct[: choices.queries]


async def _of_chunk(chunk: store.ChunkRow, analyser_of: AnalyserOf) -> Probe:
    vector = np.asarray(msgspec.json.decode(chunk.vector), dtype=np.float32)
    words = " ".join(chunk.words.split()[:WORDS])
    return Probe(vector, words or None, await analyser_of(words, chunk.lang), chunk.chunk_id)


async def _embedded(
    known: Sequence[tuple[str, str | None]],
    embedder: Embedder,
    analyser_of: AnalyserOf,
    report: Progress,
    origin: Origin,
) -> Probes:
    probes, unusable = list[Probe](), 0
    for start in range(0, len(known), TOGETHER):
        part = known[start : start + TOGETHER]
        batch = await embedder.embed([text for text, _ in part], "query")
        for (text, lang), vector in zip(part, batch.vectors, strict=True):
            if np.isfinite(vector).all() and vector.any():
                probes.append(Probe(vector, text, await analyser_of(text, lang)))
            else:
                unusable += 1
        report("embed", start + len(part), len(known))
    notes = (f"{unusable} questions could not be embedded, and were left out",) if unusable else ()
    return Probes(origin, probes, notes)


class Arms(Protocol):
    """The arms as search asks them: filters, permissions and settings are its own. Each returns at most `pool` chunks."""

    async def exact(self, connection: Connection, vector: Vectors, pool: int) -> Ranked: ...

    async def approximate(
        self, connection: Connection, vector: Vectors, pool: int, looked: Mapping[str, int]
    ) -> Ranked:
        """By the index that the space has. `looked`: how far it is read (ef_search, probes, oversampling)."""
        ...

    async def lexical(
        self, connection: Connection, text: str, analyser: str, pool: int, *, exact: bool
    ) -> tuple[Ranked, bool]:
        """The candidates, and whether they are the exact ones."""
        ...


@dataclass(frozen=True, slots=True)
class IndexState:
    """What of the configuration counts: of a space its id, name, dimension and distance, of search its pool and reach.
    `compares_all`: searches of this tenant compare every vector, and walk no index."""

    space_id: int
    space: str
    dimension: int
    distance: Distance
    pool: int
    ef_search: int
    max_scan_tuples: int
    budget: int
    rescored: int
    compares_all: bool


class Measure:
    """One measurement. Build it, call `run` once."""

    def __init__(
        self,
        database: Database,
        identity: Identity,
        state: IndexState,
        arms: Arms,
        filters: Filters,
        choices: Choices,
        probes: Probes,
        interval: Interval,
        progress: Progress | None,
    ) -> None:
        self._database = database
        self._identity = identity
        self._state = state
        self._arms = arms
        self._filters = filters
        self._choices = choices
        self._origin = probes.origin
        self._probes = probes.probes
        self._notes = list(probes.notes)
        self._interval = interval
        self._progress = progress or (lambda _stage, _done, _total: None)
        self._pool = max(*choices.ks, state.pool)
        self._figures: list[IndexFigure] = []
        self._copied = 0

    async def run(self) -> IndexMeasurement:
        """Raises UsageError where there is nothing to measure, or where this login may not build."""
        started, moment = time.perf_counter(), datetime.now(UTC)
        async with self._database.experiment(self._identity) as experiment:
            connection = experiment.connection
            await store.watch_client(connection)
            scope = await store.scope(connection, self._state.space_id, self._filters)
            if not scope.permitted:
                raise _nothing(self._identity)
            live = await store.live_index(connection, self._state.space_id)
            exact = await self._semantic(connection, live)
            if self._built(live):
                await self._tried(experiment, exact, live)
                await experiment.as_reader()
            if self._choices.lexical:
                await self._lexical(connection, live)
        self._remark()
        return IndexMeasurement(
            tenant=self._identity.tenant,
            space=self._state.space,
            dimension=self._state.dimension,
            vectors=scope.vectors,
            copied=self._copied,
            scope=self._choices.scope,
            permitted=round(scope.permitted / scope.vectors, 6),
            queries=len(self._probes),
            origin=self._origin,
            figures=tuple(self._figures),
            warnings=tuple(warnings(self._figures)),
            notes=tuple(self._notes),
            settings=self._settings(live),
            measured_at=moment,
            seconds=round(time.perf_counter() - started, 3),
        )

    def _settings(self, live: store.LiveIndexRow) -> dict[str, Any]:
        return {
            "server": live.server,
            "pgvector": live.pgvector,
            "maintenance_work_mem": live.memory,
            "table_bytes": live.table_bytes,
            "distance": self._state.distance,
            "pool": self._pool,
            "max_scan_tuples": self._state.max_scan_tuples,
            "seed": self._choices.seed,
            "filtered": self._filters != Filters(),
        }

    def _remark(self) -> None:
        if self._state.compares_all:
            self._notes.append(
                "searches of this tenant compare every vector, since it has few: none of them walks the live index"
            )
        if any(row.low == row.high == 1 for row in self._figures if row.method != "exact"):
            most = 3 / len(self._probes)
            self._notes.append(
                f"an interval of 1 … 1: no query missed anything; with {len(self._probes)} queries up to {min(most, 1):.1%} may "
                "still (rule of three)"
            )

    # --- the semantic arm, in its place

    async def _semantic(self, connection: Connection, live: store.LiveIndexRow) -> list[Ranked]:
        async def scan(probe: Probe) -> Ranked:
            return await self._arms.exact(connection, probe.vector, self._pool + 1)

        exact, times = await self._asked("exact", scan)
        if "exact" in self._choices.methods:
            self._keep(Answers("semantic", "exact", {}, exact, times), exact)
        if not self._in_place(live):
            if "hnsw" in self._choices.methods:
                self._notes.append(
                    f"hnsw: the index of the space is of kind {live.kind}; hnsw_fresh measures one that is made anew"
                )
            return exact
        if live.index_bytes is None:
            self._notes.append(f"{live.kind}: the space has no valid index: see veraz status")
            return exact
        assert live.kind != "none"
        for setting in settings_of(live.kind, self._as_recorded(live), self._shape(live, 0)):
            ranked, times = await self._asked(live.kind, self._live_scan(connection, setting))
            answers = Answers("semantic", live.kind, setting.shown, ranked, times, live.index_bytes)
            self._keep(answers, exact)
        return exact

    def _in_place(self, live: store.LiveIndexRow) -> bool:
        """Whether the index of the space is one that is measured, with options that are its own."""
        if live.kind not in self._choices.methods:
            return False
        stated = {name: getattr(self._choices, name) for name in ("m", "ef_construction", "lists")}
        own = {**methods.options_of(live.options), **msgspec.json.decode(live.recorded, type=dict[str, int])}
        return all(value is None or value == own.get(name, value) for name, value in stated.items())

    def _built(self, live: store.LiveIndexRow) -> tuple[Method, ...]:
        return tuple(m for m in self._choices.built if not (m == live.kind and self._in_place(live)))

    def _as_recorded(self, live: store.LiveIndexRow) -> Choices:
        own = msgspec.json.decode(live.recorded, type=dict[str, int])
        probes = self._choices.probes or ((own["probes"],) if "probes" in own else ())
        return replace(self._choices, lists=own.get("lists"), probes=probes)

    def _live_scan(self, connection: Connection, setting: Setting) -> Callable[[Probe], Awaitable[Ranked]]:
        looked = {
            name: n for name, n in setting.shown.items() if name in ("ef_search", "probes", "oversampling")
        }

        async def scan(probe: Probe) -> Ranked:
            return await self._arms.approximate(connection, probe.vector, self._pool + 1, looked)

        return scan

    def _shape(self, live: store.LiveIndexRow, rows: int) -> Shape:
        graph = methods.options_of(live.options)
        return Shape(
            rows,
            self._pool,
            m=self._choices.m or graph["m"],
            ef_construction=self._choices.ef_construction or graph["ef_construction"],
            ef_search=self._state.ef_search,
        )

    # --- other indexes, over a copy

    async def _tried(self, experiment: Experiment, exact: Sequence[Ranked], live: store.LiveIndexRow) -> None:
        connection = experiment.connection
        copy = store.Copy.named(self._state.space_id, self._state.dimension, self._state.distance)
        async with _allowed():
            await experiment.as_login()
            await store.make_schema(connection, copy)
            await experiment.as_maintenance()
        self._progress("copy", 0, 1)
        tenant = self._identity.tenant_id if self._choices.scope == "tenant" else None
        self._copied, centre = await store.fill(connection, copy, tenant)
        self._progress("copy", 1, 1)
        assert centre is not None  # the reader saw vectors of this snapshot
        shape = self._shape(live, self._copied)
        for method in self._built(live):
            settings = settings_of(method, self._choices, shape)
            size, seconds = await self._build(connection, copy, method, settings[0])
            await experiment.as_reader()
            for setting in settings:
                await store.scan_settings(connection, setting, self._state.max_scan_tuples, sort=False)
                scan = self._copy_scan(connection, copy, method, setting, centre)
                ranked, times = await self._asked(method, scan)
                self._keep(Answers("semantic", method, setting.shown, ranked, times, size, seconds), exact)
            await experiment.as_maintenance()
            await store.scan_settings(connection, None, self._state.max_scan_tuples, sort=True)
            await store.drop(connection, copy)

    async def _build(
        self, connection: Connection, copy: store.Copy, method: Method, setting: Setting
    ) -> tuple[int, float]:
        self._progress(f"build {method}", 0, 1)
        needed = methods.cluster_bytes(setting.build.get("lists", 0), self._state.dimension)
        await store.grant_memory(connection, needed if method == "ivfflat" else 0)
        started = time.perf_counter()
        size = await store.build(connection, copy, method, setting.build)
        self._progress(f"build {method}", 1, 1)
        return size, time.perf_counter() - started

    def _copy_scan(
        self, connection: Connection, copy: store.Copy, method: str, setting: Setting, centre: Vectors
    ) -> Callable[[Probe], Awaitable[Ranked]]:
        async def scan(probe: Probe) -> Ranked:
            if setting.candidates is None:
                return await store.nearest(connection, copy, self._filters, probe.vector, self._pool + 1)
            return await store.nearest_by_signs(
                connection, copy, self._filters, probe.vector, self._pool + 1,
                method=method, centre=centre, candidates=setting.candidates,
            )  # fmt: skip

        return scan

    # --- the lexical arm

    async def _lexical(self, connection: Connection, live: store.LiveIndexRow) -> None:
        exact_ones: list[bool] = []

        async def everything(probe: Probe) -> Ranked:
            return (await self._words(connection, probe, exact=True))[0]

        async def budgeted(probe: Probe) -> Ranked:
            ranked, exact = await self._words(connection, probe, exact=False)
            exact_ones.append(exact)
            return ranked

        exact, times = await self._asked("lexical exact", everything)
        if not any(exact):
            self._notes.append("lexical: no query has a word of the corpus")
            return
        if "exact" in self._choices.methods:
            self._keep(Answers("lexical", "exact", {}, exact, times), exact)
        ranked, times = await self._asked("lexical", budgeted)
        complete = sum(exact_ones[-len(ranked) :]) / len(ranked)
        shown = {
            "budget": self._state.budget,
            "rescored": max(self._state.rescored, self._pool + 1),
            "read_everything": round(complete, 4),
        }
        self._keep(Answers("lexical", "budgeted", shown, ranked, times, live.posting_bytes), exact)

    async def _words(self, connection: Connection, probe: Probe, *, exact: bool) -> tuple[Ranked, bool]:
        if probe.text is None:
            return [], True
        return await self._arms.lexical(connection, probe.text, probe.analyser, self._pool + 1, exact=exact)

    # --- asking

    async def _asked(
        self, stage: str, scan: Callable[[Probe], Awaitable[Ranked]]
    ) -> tuple[list[Ranked], list[float]]:
        """Every query in turn, with the milliseconds of each. One connection: nothing else is under way on it."""
        ranked, times = list[Ranked](), list[float]()
        for probe in self._probes[:WARM]:
            await scan(probe)
        for done, probe in enumerate(self._probes, 1):
            started = time.perf_counter()
            found = await scan(probe)
            times.append((time.perf_counter() - started) * 1000)
            ranked.append(ordered(found, without=probe.left_out)[: self._pool])
            self._progress(stage, done, len(self._probes))
        return ranked, times

    def _keep(self, answers: Answers, exact: Sequence[Ranked]) -> None:
        rows = (figure(answers, exact, k, self._interval) for k in self._choices.ks)
        self._figures += [row for row in rows if row is not None]


@asynccontextmanager
async def _allowed() -> AsyncIterator[None]:
    try:
        yield
    except InsufficientPrivilege as error:
        raise UsageError(
            f"this login may not build indexes for comparison: {str(error).splitlines()[0]}",
            fix="use the administrator's URL, who may create a schema in this database; or measure what is there: "
            "--methods exact,hnsw",
        ) from error
