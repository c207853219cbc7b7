"""Indexes are built, merged and measured: the operator's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from veraz.engine.questions import Questions
from veraz.engine.tenants import Tenants
from veraz.errors import UsageError
from veraz.evaluation.dataset import load_dataset
from veraz.evaluation.gates import check as check_gates
from veraz.evaluation.gates import parse_gate
from veraz.evaluation.statistics import bootstrap_interval
from veraz.ingest.plan import ANALYSERS, UNKNOWN_ANALYSER, analyser_for
from veraz.nouns.corpus import Identity, IndexBuilt, IndexKind
from veraz.nouns.lexical import EXTENSIONS, ExtensionName, LexicalIndexBuilt
from veraz.nouns.measure import IndexMeasurement, LiveRecall, Method, Origin, Scope
from veraz.nouns.question import Filters
from veraz.ops import indexes as index_rules
from veraz.ops import store as ops_store
from veraz.ops.indexes import CUTOFFS, check_options, planned, signs_suffice, tried
from veraz.ops.indexes import Plan as IndexPlan
from veraz.ops.measure import recall, series
from veraz.ops.measure import store as measure_store
from veraz.ops.measure.methods import USUAL, Choices
from veraz.ops.measure.methods import check as check_choices
from veraz.ops.measure.pipeline import IndexState, Measure, Probes, gather
from veraz.ops.measure.pipeline import Progress as MeasureProgress
from veraz.query.clean import check_choice
from veraz.schema import lexical_indexes
from veraz.schema.indexes import WantedIndex, exchange
from veraz.search import store as search_store
from veraz.search.engines import pipeline as lexical_engines
from veraz.search.engines import store as engine_store
from veraz.search.measured import MeasuredArms
from veraz.search.request import few_rows

RECENT = timedelta(days=7)
"""How far back live recall is told where no day is given."""


class Indexes(Questions, Tenants):
    """How the store is searched, and how good that is."""

    async def build_index(
        self,
        kind: IndexKind,
        *,
        m: int | None = None,
        ef_construction: int | None = None,
        lists: int | None = None,
        probes: int | None = None,
        oversampling: int | None = None,
        progress: MeasureProgress | None = None,
    ) -> IndexBuilt:
        """Gives the space an index of another kind, or with other options; `none` takes it away. It is built beside the one that
        searches walk and replaces it in one short transaction; writers wait while it is built. `m`, `ef_construction` and
        `lists` are pgvector's; `probes` and `oversampling` are how far searches look unless told otherwise. Of an index of
        signs is measured first what it would find of the corpus's own vectors: raises CheckFailed where that is less than 0.95
        of the exact result. Raises UsageError for options of another kind and for a login that may not build, DatabaseError
        where the server's memory does not suffice; the index that was there serves on."""
        self._require_operator()
        stated = check_options(
            kind,
            {"m": m, "ef_construction": ef_construction, "lists": lists, "probes": probes, "oversampling": oversampling},
        )  # fmt: skip
        space, report = await self.space(), progress or (lambda _stage, _done, _total: None)
        async with self._database.maintenance() as connection:
            vectors = await ops_store.space_vectors(connection, space.space_id)
        plan = planned(kind, stated, vectors=vectors, dimension=space.spec.dimension)
        found = await self._signs_measured(space, plan, progress) if kind == "binary" else {}
        wanted = WantedIndex(
            space.space_id,
            space.spec.dimension,
            space.spec.distance,
            kind,
            plan.built,
            plan.options,
            plan.memory,
        )
        report(f"build {kind}", 0, 1)
        async with self._database.administration() as connection:
            made = await exchange(connection, wanted)
        report(f"build {kind}", 1, 1)
        return IndexBuilt(
            space.spec.name,
            kind,
            plan.options,
            vectors,
            made.size_bytes,
            made.seconds,
            found,
            made.notes,
            space.spec.distance,
        )

    async def build_lexical_index(
        self, engine: ExtensionName, *, drop: bool = False, shared_statistics: bool = False
    ) -> LexicalIndexBuilt:
        """Builds the index that `[search] lexical` = `engine` asks, anew where it is there, or drops it. That of pg_textsearch is
        of this tenant alone, one for each language. A table can have one of pg_search, so that one holds every tenant's chunks,
        and its scores weigh words by all of them: with more than one tenant it is refused unless `shared_statistics` says that
        this is wanted. Writers wait while it is built. Raises ConfigError where the extension is not installed or too old,
        UsageError for a login that may not build, DatabaseError where the extension does not take what is asked."""
        self._require_operator()
        check_choice("engine", engine, EXTENSIONS)
        identity, started = await self.identity(), time.perf_counter()
        async with self._database.transaction(identity) as connection:
            found = await engine_store.extension(connection, engine)
            analysers = tuple(await engine_store.indexes(connection, engine, identity.tenant_id))
        if drop:
            analysers = (*ANALYSERS, UNKNOWN_ANALYSER)
        wanted = engine_store.built_with(engine, identity.tenant_id, analysers, ANALYSERS)
        notes: tuple[str, ...] = ()
        if not drop:
            lexical_engines.require(engine, found)
            notes = () if engine == "pg_textsearch" else await self._sharing(shared_statistics)
            if not wanted:
                raise UsageError(f"tenant {identity.tenant} holds no documents yet", fix="ingest some first")
        async with self._database.administration() as connection:
            if drop:
                names, size = await lexical_indexes.drop(connection, tuple(wanted)), 0
            else:
                size = await lexical_indexes.rebuild(connection, engine, wanted, found.schema or "public")
                names = tuple(wanted)
        self._lexical_engines.pop(engine, None)  # it is asked anew whether it answers
        return LexicalIndexBuilt(engine, names, size, round(time.perf_counter() - started, 3), notes)

    async def _sharing(self, wanted: bool) -> tuple[str, ...]:
        tenants = await self.tenants()
        if len(tenants) > 1 and not wanted:
            raise UsageError(
                f"an index of pg_search holds the chunks of all {len(tenants)} tenants, and its scores tell of words"
                " in each of them",
                fix="build with --shared-statistics if every tenant may know that of the others; pg_textsearch has an"
                " index for each",
            )
        return ("its statistics are those of all tenants: see SECURITY.md",)

    async def _signs_measured(
        self, space: ops_store.Space, plan: IndexPlan, progress: MeasureProgress | None
    ) -> Mapping[str, float]:
        asked = plan.options["oversampling"]
        measured = await self._measured(
            Choices(
                ks=CUTOFFS,
                queries=index_rules.QUERIES,
                methods=("binary",),
                oversampling=tried(asked),
                lexical=False,
                m=plan.built["m"],
                ef_construction=plan.built["ef_construction"],
            ),
            Filters(),
            None,
            "chunks",
            progress,
        )
        return signs_suffice(measured.figures, asked, space.spec.name)

    async def measure_index(
        self,
        *,
        ks: Sequence[int] = (10, 50),
        queries: int | None = None,
        suite: Path | None = None,
        origin: Origin | None = None,
        methods: Sequence[Method] = USUAL,
        filters: Filters | None = None,
        scope: Scope = "store",
        ef_search: Sequence[int] = (),
        lists: int | None = None,
        probes: Sequence[int] = (),
        oversampling: Sequence[int] = (8,),
        lexical: bool = True,
        seed: int = 1,
        gates: Sequence[str] = (),
        progress: MeasureProgress | None = None,
    ) -> IndexMeasurement:
        """Recall, time and size of each method against the exact scan, for the engine's tenant and roles, all on one
        snapshot. The live index is measured in its place; others are built over a copy of the vectors (`scope`: of every
        tenant, as the live index is, or of this one) inside a transaction that is rolled back. Asked are a suite's
        queries, else the questions of stored traces, else chunks: `origin` says which. `queries`: at most so many, None
        for 100, or all of a suite. Gates such as `recall@10>=0.95` are evaluated, not enforced. Raises UsageError where
        there is nothing to measure."""
        self._require_operator()
        if queries is None:
            queries = 100 if suite is None else 100_000
        choices = Choices(
            ks=tuple(ks), queries=queries, methods=tuple(dict.fromkeys(methods)), scope=scope,
            ef_search=tuple(ef_search), lists=lists, probes=tuple(probes),
            oversampling=tuple(oversampling), lexical=lexical, seed=seed,
        )  # fmt: skip
        check_choices(choices)
        filters = self._resolved(Filters() if filters is None else filters)
        parsed = [parse_gate(gate, recall.gate_names(choices.methods, choices.ks)) for gate in gates]
        texts = None
        if suite is not None:
            texts = tuple((await asyncio.to_thread(load_dataset, suite)).queries.values())
        measured = await self._measured(choices, filters, texts, origin, progress)
        return replace(measured, gates=check_gates(parsed, recall.values(measured.figures)))

    async def _measured(
        self,
        choices: Choices,
        filters: Filters,
        texts: Sequence[str] | None,
        origin: Origin | None,
        progress: MeasureProgress | None,
    ) -> IndexMeasurement:
        identity, space = await self.identity(), await self.space()
        async with self._database.transaction(identity, plan="once") as connection:
            size = await search_store.corpus_size(connection, space.space_id)
        asked = await self._gathered(identity, size, choices, filters, texts, origin, progress)
        measure = Measure(
            self._database,
            identity,
            self._index_state(space, size),
            MeasuredArms(space.space_id, self.config.search, filters, size.index, size.indexed),
            filters,
            choices,
            asked,
            bootstrap_interval,
            progress,
        )
        return await measure.run()

    async def _gathered(
        self,
        identity: Identity,
        size: search_store.CorpusSize,
        choices: Choices,
        filters: Filters,
        texts: Sequence[str] | None,
        origin: Origin | None,
        progress: MeasureProgress | None,
    ) -> Probes:
        async def analyser_of(text: str, lang: str | None) -> str:
            return analyser_for(lang or (await self._question_lang(size, text, "auto")).lang)

        return await gather(
            self._database,
            identity,
            await self._open_embedder(),
            (await self.space()).space_id,
            choices=choices,
            filters=filters,
            texts=texts,
            origin=origin,
            analyser_of=analyser_of,
            progress=progress,
        )

    def _index_state(self, space: ops_store.Space, size: search_store.CorpusSize) -> IndexState:
        search = self.config.search
        return IndexState(
            space_id=space.space_id,
            space=space.spec.name,
            dimension=space.spec.dimension,
            distance=space.spec.distance,
            pool=search.pool,
            ef_search=search.ef_search,
            max_scan_tuples=search.max_scan_tuples,
            budget=search.budget,
            rescored=search.rescored,
            compares_all=few_rows(size.own, size.indexed, search.pool),
        )

    async def live_recall(self, *, since: datetime | None = None, gates: Sequence[str] = ()) -> LiveRecall:
        """What the sampled searches of the engine's tenant found of the exact result, day by day since a moment (None: for seven
        days). Gates such as `recall>=0.95` are evaluated, not enforced."""
        self._require_operator()
        parsed = [parse_gate(gate, series.GATED) for gate in gates]
        begin = datetime.now(UTC) - RECENT if since is None else since
        identity = await self.identity()
        async with self._database.transaction(identity) as connection:
            rows = await measure_store.recall_series(connection, begin)
        share = self.config.observability.recall_sample
        found = series.summary(rows, tenant=identity.tenant, since=begin, share=share)
        return replace(found, gates=check_gates(parsed, series.values(found)))
