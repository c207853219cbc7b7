"""Many configurations on judged sets, of which one is chosen."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import msgspec

from veraz import __version__
from veraz.engine.evaluation import Evaluation
from veraz.engine.tenants import Tenants
from veraz.evaluation.statistics import SEED
from veraz.evaluation.sweeps.grid import Base, read_grid
from veraz.evaluation.sweeps.kept import claimed
from veraz.evaluation.sweeps.outcome import write_outcome
from veraz.evaluation.sweeps.pipeline import Loading, Plan, Rerank, SweepSet, check_plan
from veraz.evaluation.sweeps.pipeline import Progress as SweepProgress
from veraz.evaluation.sweeps.pipeline import sweep as run_sweep
from veraz.evaluation.sweeps.sets import read_sets
from veraz.ingest import store as ingest_store
from veraz.ingest.chunkers import spelled_out
from veraz.nouns.corpus import Identity, Vectors
from veraz.nouns.rerank import RERANKERS
from veraz.nouns.sweep import IndexSetting, SweepReport
from veraz.providers.embedders.remembered import Remembering
from veraz.query.clean import check_count, check_names
from veraz.sweeping import SearchBench, configured


class Sweeps(Evaluation, Tenants):
    """Which configuration is best."""

    async def sweep(
        self,
        suites: Sequence[Path],
        *,
        grid: Path,
        out: Path,
        folds: int = 5,
        seed: int = SEED,
        measure: str = "ndcg@10",
        sources: Sequence[str] = (),
        tenants: Sequence[str] = (),
        qrels: Sequence[str] = (),
        corpora: Sequence[str] = (),
        remove_tenants: bool = False,
        progress: SweepProgress | None = None,
        loading: Loading | None = None,
    ) -> SweepReport:
        """Measures every configuration of a grid file on judged sets, each weighing the same, chooses one, tells by
        cross-validation what the choice is worth, and writes veraz.toml, table.md and sweep.json into `out`. What arms gave and
        what was embedded is kept there too: run again after a kill, it goes on where it stood. Sets with a corpus are loaded once
        for each way of cutting, into tenants of their own (`remove_tenants`: those of other ways than the current one go
        afterwards); others are evaluated as they are ingested. `sources`, `tenants`, `qrels` and `corpora` are `SET=VALUE`, see
        `read_sets`. Who may not write may not sweep, and only the operator may make tenants or look into another one."""
        await self._writer()
        check_count("folds", folds)
        for name, values in (
            ("sources", sources),
            ("tenants", tenants),
            ("qrels", qrels),
            ("corpora", corpora),
        ):
            check_names(name, values)
        base = configured(self.config)
        sets = await asyncio.to_thread(
            read_sets, suites, sources=sources, tenants=tenants, qrels=qrels, corpora=corpora
        )
        plan = Plan(sets, read_grid(grid, RERANKERS), base, folds, seed, measure)
        check_plan(plan)
        space = await self.space()
        with claimed(out), closing(Remembering(await self._open_embedder(), out)) as embedder:
            bench = SearchBench(
                self._database,
                self.config,
                embedder,
                space.space_id,
                load=partial(self._load_for_sweep, base, embedder),
                language=self._question_lang,
                engine=await self._lexical_engine(await self.identity()),
            )
            report = await run_sweep(
                plan,
                bench,
                out,
                with_options=spelled_out,
                rerankers=await self._sweep_rerankers(plan, bench),
                space=space.spec.name,
                version=__version__,
                progress=progress,
                loading=loading,
            )
            work = {**report.work, "texts embedded": embedder.asked, "vectors taken": embedder.taken}
        report = write_outcome(replace(report, work=work), base, out)
        if remove_tenants:
            for slug in (slug for of in report.sets for slug in of.made):
                await self.remove_tenant(slug)
        return report

    async def _sweep_rerankers(self, plan: Plan, bench: SearchBench) -> dict[str, Rerank | None]:
        """Those that the grid and the configuration name, opened before anything is loaded."""
        names = {self.config.search.rerank, *map(str, plan.grid.axes.get("reranker", ()))}
        found: dict[str, Rerank | None] = {}
        for name in sorted(names):
            reranking = await self._reranking(name, measuring=True)
            found[name] = None if reranking is None else partial(bench.rerank, reranking)
        return found

    async def _load_for_sweep(
        self, base: Base, embedder: Remembering, of: SweepSet, index: IndexSetting, loading: Loading
    ) -> tuple[Identity, bool]:
        """Who reads a set's documents, as they are ingested or loaded as `index` says. The current way of cutting has the tenant
        that `evaluate` has."""
        if of.is_ingested:
            identity = await (self._acting_in(of.tenant) if of.tenant else self.identity())
            if of.source is not None:
                await self._check_source(identity, of.source)
            return identity, False
        assert of.dataset.corpus_path is not None
        ordinary = await self.ensure_tenant(of.dataset.tenant)
        made = index != base.index
        cut = hashlib.sha256(msgspec.json.encode(index)).hexdigest()[:8]
        identity = await self.ensure_tenant(f"{of.dataset.tenant}-{cut}") if made else ordinary
        here = copy(self)
        here.config = msgspec.structs.replace(
            self.config,
            ingest=msgspec.structs.replace(self.config.ingest, **asdict(index)),
        )
        here._models = replace(self._models, embedder=embedder)
        embedder.elsewhere = partial(self._known_vectors, ordinary)
        await here._load_corpus(
            identity,
            of.dataset.corpus_path,
            lambda tally: loading(of.name, tally.seen, of.dataset.documents),
        )
        return identity, made

    async def _known_vectors(self, identity: Identity, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        space = await self.space()
        async with self._database.transaction(identity) as connection:
            return await ingest_store.known_vectors(connection, space.space_id, hashes)
