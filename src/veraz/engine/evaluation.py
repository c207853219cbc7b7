"""Judged questions: evaluated, bound to what is ingested, pooled for judges."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from veraz import __version__
from veraz.engine.corpus import Corpus
from veraz.engine.questions import Questions, question_lang
from veraz.engine.runs import Runs
from veraz.errors import AccessDenied, ItemError, UsageError
from veraz.evaluation.dataset import Dataset, load_dataset, load_suite
from veraz.evaluation.judging.pipeline import pooled_question
from veraz.evaluation.judging.pool import stored_rankings
from veraz.evaluation.judging.session import JudgingSession
from veraz.evaluation.pipeline import evaluate as run_evaluation
from veraz.evaluation.qrels import write_qrels
from veraz.evaluation.report import write_report
from veraz.evaluation.runs import store as runs_store
from veraz.evaluation.runs.comparison import check_comparable_to
from veraz.evaluation.runs.figures import figures as run_figures
from veraz.evaluation.runs.files import is_place
from veraz.evaluation.runs.machine import code_digest, machine, packages
from veraz.evaluation.suites.binding import bind_documents
from veraz.evaluation.suites.importing import (
    GradedTrace,
    SuiteDraft,
    add_to_suite,
    judgements_of,
    with_revision,
    with_source,
    write_suite,
)
from veraz.evaluation.suites.judgements import JudgementLog
from veraz.evaluation.suites.manifest import is_suite
from veraz.evaluation.suites.pipeline import binding_of, current_revisions, passages_of, texts_of
from veraz.evaluation.suites.traced import of_traces
from veraz.evaluation.suites.twins import RevisionKey
from veraz.filters.typed import both
from veraz.identity import store as identities
from veraz.identity.roles import check_roles, check_slug
from veraz.ingest import discover as discovery
from veraz.ingest.chunkers import stated_chunker
from veraz.ingest.plan import Overrides
from veraz.ingest.tally import Progress
from veraz.nouns.corpus import Identity, SourceSettings
from veraz.nouns.evaluation import EvalReport, RankedItem, RankedQuery, StoredRun
from veraz.nouns.evidence import Hit, Mode
from veraz.nouns.question import Filters
from veraz.nouns.rerank import RERANKERS
from veraz.nouns.suite import Binding, ChunkPlace, Imported, Manifest, QueryRequest
from veraz.ops import store as ops_store
from veraz.query.clean import MODES, check_choice, check_count, check_names, check_search, clean_question
from veraz.query.route import route
from veraz.schema.apply import latest_version, replay_digest
from veraz.text.decode import require_storable

CORPUS = "corpus"
"""The source into which the corpus of an evaluated folder is loaded."""
NOT_KEPT = "not kept: its queries are asked in several tenants, and none may hold what another's rankings name; --out writes it"


@dataclass(frozen=True, slots=True)
class AskedAs:
    """Who asks a judged query, what it may find, and the language that is stated for it."""

    identity: Identity
    filters: Filters
    lang: str


class Evaluation(Corpus, Questions, Runs):
    """How good answers and rankings are."""

    async def evaluate(
        self,
        folder: Path,
        *,
        source: str | None = None,
        qrels: Path | None = None,
        ks: Sequence[int] = (5, 10, 20, 100),
        modes: Sequence[Mode] = ("hybrid",),
        rerank: str | None = None,
        gates: Sequence[str] = (),
        out: Path | None = None,
        trec_run: Path | None = None,
        baseline: str | Path | None = None,
        where: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        ingest_progress: Progress | None = None,
    ) -> tuple[EvalReport, ...]:
        """Runs the judged queries of a BEIR-layout folder or of a suite, once per mode, each as the suite says it is asked.
        A folder with a corpus is loaded into a tenant of its own; one without, and any with `source`, is evaluated on what
        is ingested. `where` is a filter expression that holds for every query beside its own. `rerank` as for `search`.
        `baseline` names an earlier run, as for `eval_run`; of a run of several modes, that of the same mode.
        Gates are evaluated, not enforced: see `evaluation.gates.require`. Runs are kept, so who may not write may not
        evaluate, and only the operator may make that tenant. A run whose queries are asked in several tenants is not kept:
        its report says so. Raises UsageError for a source that the tenant does not have."""
        writer = await self._writer()
        for mode in modes if not isinstance(modes, str) else (modes,):
            check_choice("mode", mode, MODES)
        check_names("modes", modes)
        check_choice("rerank", rerank, RERANKERS, optional=True)
        check_names("gates", gates)
        for k in ks:
            check_count("k", k)
        dataset = await asyncio.to_thread(load_dataset, folder, qrels=qrels)
        loaded = dataset.corpus_path is not None and source is None
        if loaded or source is not None:
            dataset = dataset.in_source(source or CORPUS)
        earlier = await self._baselines(baseline, modes, dataset) if baseline else {}
        identity = await self._evaluation_tenant(dataset, ingest_progress) if loaded else writer
        if source is not None:
            await self._check_source(identity, source)
        looked_in = CORPUS if loaded and dataset.manifest else source
        asking = await self._asking(identity, dataset.asked, dataset.sources, looked_in, where)
        keeper = _keeper(asking)
        reports = []
        for mode in modes:
            report = await run_evaluation(
                dataset,
                partial(self._judged_query, asking, mode, rerank),
                ks=ks,
                mode=mode,
                gates=gates,
                progress=progress,
                config=await self._evaluation_config(
                    keeper or identity, mode, source, dataset, rerank, where
                ),
                readable=await self._readable(asking, dataset.relevant(), source),
                baseline=earlier[mode].values if earlier else None,
                baseline_figures=run_figures(earlier[mode].header) if earlier else None,
                texts=partial(self._texts, asking),
                bound=await self._binding(asking, dataset.choosing) if dataset.spans else None,
            )
            if keeper is None:
                report = replace(report, warnings=(*report.warnings, NOT_KEPT))
            suffix = f"-{mode}" if len(modes) > 1 else ""
            trec = trec_run.with_name(trec_run.stem + suffix + trec_run.suffix) if trec_run else None
            report = write_report(
                report, out=out.with_name(out.name + suffix) if out else None, trec_run=trec
            )
            if trec and dataset.spans:  # a run of judged spans says nothing to who has judged documents
                write_qrels(trec.with_name(trec.name + ".qrels"), dataset.choosing.grades)
            if keeper:
                await self._keep_run(keeper, report)
            reports.append(report)
        return tuple(reports)

    async def _evaluation_tenant(self, dataset: Dataset, progress: Progress | None) -> Identity:
        assert dataset.corpus_path is not None
        identity = await self.ensure_tenant(dataset.tenant)
        await self._load_corpus(identity, dataset.corpus_path, progress)
        return identity

    async def _load_corpus(self, identity: Identity, path: Path, progress: Progress | None) -> None:
        """A judged set's documents into a tenant of its own; what is there and did not change costs nothing."""
        items = discovery.discover([str(path)])
        report = await self._ingest(identity, items, SourceSettings(CORPUS), Overrides(), progress)
        if report.failed:
            first = report.errors[0]
            raise ItemError(
                f"{report.failed} documents of the corpus failed; the first: {first.reason}",
                path=first.path,
                external_id=first.external_id,
                stage=first.stage,
            )

    async def _asking(
        self,
        identity: Identity,
        requests: Mapping[str, QueryRequest],
        of_suite: Sequence[str],
        source: str | None,
        where: str | None = None,
    ) -> dict[str, AskedAs]:
        """Who asks each query, and in what it looks: as the suite says, where the caller may. Raises UsageError, naming the
        query, for what search would refuse, and AccessDenied for a tenant or a role that is not the caller's."""
        asking: dict[str, AskedAs] = {}
        acting: dict[tuple[str | None, tuple[str, ...] | None], Identity] = {}
        for query_id, request in requests.items():
            who = (request.tenant, request.roles)
            try:
                if who not in acting:
                    acting[who] = await self._acting_for(identity, request)
                own = replace(request.filters, where=both(request.filters.where, where))
                filters = _narrowed(own, of_suite, source)
                clean_question(request.text)
                check_search(
                    k=None,
                    mode="hybrid",
                    lang=request.lang,
                    filters=filters,
                    as_of=request.as_of,
                    declared=self.config.filters.meta,
                )
                lang = question_lang(request.lang)
            except UsageError as error:
                raise type(error)(f"query {query_id!r}: {error.what}", fix=error.fix) from error
            asking[query_id] = AskedAs(acting[who], filters, lang)
        looked_in = (
            (asked.identity, slug) for asked in asking.values() for slug in asked.filters.sources or ()
        )
        for who_asks, slug in dict.fromkeys(looked_in):
            await self._check_source(who_asks, slug)
        return asking

    async def _acting_for(self, identity: Identity, request: QueryRequest) -> Identity:
        """The operator acts in any tenant with any roles; who presented a credential in their own, with fewer roles at most."""
        roles = identity.roles if request.roles is None else check_roles(request.roles)
        foreign = request.tenant is not None and request.tenant != identity.tenant
        if not identity.operator and (foreign or not set(roles) <= set(identity.roles)):
            raise AccessDenied(
                "it is asked in another tenant or with roles that this credential does not hold",
                fix="evaluate the suite with the veraz command line, as the operator",
            )
        if not foreign:
            return replace(identity, roles=roles)
        assert request.tenant is not None
        async with self._database.authentication() as connection:
            found = await identities.find_tenant(connection, check_slug(request.tenant))
        if found is None:
            raise UsageError(f"no tenant {request.tenant!r}, or it is disabled", fix="see: veraz tenant list")
        return Identity(*found, roles, operator=True)

    async def _judged_query(
        self, asking: Mapping[str, AskedAs], mode: Mode, rerank: str | None, request: QueryRequest
    ) -> RankedQuery:
        """A query as its suite asks it. Where it expects an outcome, what search can say of that is looked at as well."""
        asked = asking[request.query_id]
        if request.outcome is not None:
            stated = None if asked.lang in ("auto", "any") else asked.lang
            if route(request.text, stated) is not None:
                return RankedQuery((), outcome="routed")
        return await self._ranked_query(
            asked.identity,
            asked.filters,
            mode,
            request.text,
            asked.lang,
            request.as_of,
            request.outcome is not None,
            rerank,
        )

    async def _ranked_query(
        self,
        identity: Identity,
        filters: Filters,
        mode: Mode,
        question: str,
        lang: str = "auto",
        as_of: date | None = None,
        assessed: bool = False,
        rerank: str | None = None,
    ) -> RankedQuery:
        """All fused candidates, so that a document's best chunk decides its place and the pool is the one that search uses."""
        asked, pool = clean_question(question), 2 * self.config.search.pool
        run = await self._search(
            identity,
            asked,
            pool,
            mode,
            lang,
            filters,
            None,
            False,
            False,
            as_of,
            rerank,
            every=True,
            measuring=True,
        )
        outcome: str = run.result.outcome
        if assessed and outcome == "found":
            result = await self._assessed(identity, run)
            sufficient = (result.sufficiency or 0.0) >= (result.threshold or 0.0)
            outcome = "found" if sufficient else "insufficient"
        return RankedQuery(
            ranked=tuple(item for h in run.result.hits for item in _ranked_items(h)),
            timings_ms=run.result.timings_ms,
            empty_arms=tuple(arm for arm, candidates in run.arms.items() if not candidates),
            outcome=outcome,
            shortfall=run.result.shortfall,
            unranked=run.reranked.fallback if run.reranked is not None else None,
        )

    async def _texts(
        self, asking: Mapping[str, AskedAs], request: QueryRequest, keys: Collection[RevisionKey]
    ) -> Mapping[RevisionKey, str]:
        return await texts_of(self._database, asking[request.query_id].identity, keys)

    async def _evaluation_config(
        self,
        identity: Identity,
        mode: Mode,
        source: str | None,
        dataset: Dataset,
        rerank: str | None = None,
        where: str | None = None,
    ) -> dict[str, Any]:
        """All that could explain a run's figures, but for what the evaluation adds itself."""
        space = await self.space()
        manifest = dataset.manifest
        looked_in = source or (dataset.sources[0] if len(dataset.sources) == 1 else None)
        reranking = await self._reranking(rerank)
        other = None if mode == "semantic" else await self._lexical_engine(identity)
        async with self._database.transaction(identity) as connection:
            corpus = await runs_store.corpus_state(connection, looked_in)
            indexes = await runs_store.index_definitions(connection, space.space_id)
            server = await runs_store.server_settings(connection)
        capabilities = self._database.capabilities
        return {
            "search": msgspec.to_builtins(self.config.search),
            "chunk_tokens": self.config.ingest.chunk_tokens,
            "title_weight": self.config.ingest.title_weight,
            "chunker": stated_chunker(self.config.ingest.chunker).version,
            "space": space.spec.name,
            "fingerprint": space.spec.fingerprint,
            "source": source,
            **({"where": where} if where else {}),
            "mode": mode,
            "veraz": __version__,
            "code": code_digest(),
            "schema": [latest_version(), replay_digest()[:12]],
            "roles": list(identity.roles),
            "tenant": identity.tenant,
            "embedding_space": msgspec.to_builtins(space.spec),
            "reranker": None
            if reranking is None
            else {
                "name": reranking.name,
                "version": reranking.reranker.version,
                "weight": reranking.weight,
                "pool": reranking.pool,
            },
            **(
                {"lexical_engine": {"name": other.engine.name, "version": other.engine.version}}
                if other is not None
                else {}
            ),
            "corpus": msgspec.to_builtins(corpus),
            "index": {
                "definitions": {i.name: i.definition for i in indexes},
                "invalid": [i.name for i in indexes if not i.is_valid],
            },
            "machine": machine(),
            "packages": packages(),
            "server": {
                "postgresql": capabilities.server_version,
                "pgvector": capabilities.pgvector,
                "embedded": self._embedded,
                "settings": server,
            },
            **({"suite": {"name": manifest.name, "version": manifest.version}} if manifest else {}),
        }

    async def _baselines(
        self, baseline: str | Path, modes: Sequence[Mode], dataset: Dataset
    ) -> dict[Mode, StoredRun]:
        """The baseline of each mode: `--out DIR` with several modes wrote a folder for each."""
        name = os.fspath(baseline)
        found = {}
        for mode in modes:
            of_mode = f"{name}-{mode}"
            found[mode] = await self.eval_run(of_mode if not is_place(name) and is_place(of_mode) else name)
            check_comparable_to(found[mode], dataset.fingerprint)
        return found

    async def _readable(
        self, asking: Mapping[str, AskedAs], documents: Collection[str], source: str | None
    ) -> dict[str, frozenset[str]]:
        """By query: which of the documents who asks it may read."""
        wanted = sorted(documents)
        found: dict[Identity, frozenset[str]] = {}
        for identity in {asked.identity for asked in asking.values()}:
            async with self._database.transaction(identity) as connection:
                found[identity] = await ops_store.readable_documents(connection, wanted, source)
        return {query_id: found[asked.identity] for query_id, asked in asking.items()}

    async def _binding(
        self,
        asking: Mapping[str, AskedAs],
        dataset: Dataset,
        progress: Callable[[int, int], None] | None = None,
    ) -> Binding:
        groups: dict[tuple[Identity, date | None], dict[str, Any]] = {}
        for query_id, spans in dataset.spans.items():
            who = asking[query_id].identity, dataset.request(query_id).as_of
            groups.setdefault(who, {})[query_id] = spans
        return await binding_of(self._database, groups, progress)

    async def check_suite(
        self,
        folder: Path,
        *,
        source: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Binding:
        """Whether a suite can be evaluated on what is ingested: every file is read, and each judged span is looked for in
        the current revision of its document and in its chunks, for who asks. Nothing is searched. Raises UsageError for what
        is wrong in a file."""
        dataset = await asyncio.to_thread(load_dataset, folder)
        if source is not None:
            dataset = dataset.in_source(source)
        identity = await self.identity()
        asking = await self._asking(identity, dataset.asked, dataset.sources, source)
        if dataset.spans:
            return await self._binding(asking, dataset, progress)
        judged = {docid for grades in dataset.qrels.values() for docid in grades}
        named = source or (dataset.sources[0] if len(dataset.sources) == 1 else None)
        return bind_documents(dataset.qrels, await self._readable(asking, judged, named), named or "")

    async def judging(
        self,
        folder: Path,
        *,
        judge: str,
        runs: Sequence[Path] = (),
        modes: Sequence[Mode] = (),
        depth: int = 10,
        progress: Callable[[int, int], None] | None = None,
    ) -> JudgingSession:
        """A session over the first `depth` results of several `runs` (folders that `evaluate` wrote) and of fresh searches
        in `modes`, pooled, blind and shuffled. What `judge` judged before is not asked again. Each grade is added to the
        suite's judgements.jsonl at once. Raises UsageError for a suite that judges documents."""
        check_names("modes", modes)
        for mode in modes:
            check_choice("mode", mode, MODES)
        check_count("depth", depth)
        require_storable("judge", judge)
        suite = await asyncio.to_thread(load_suite, folder)
        stored = [await asyncio.to_thread(stored_rankings, run, suite.requests) for run in runs]
        identity = await self.identity()
        asking = await self._asking(identity, suite.requests, suite.manifest.sources, None)
        pool = []
        for done, (query_id, request) in enumerate(suite.requests.items(), 1):
            asked = asking[query_id]
            rankings: list[Sequence[RankedItem]] = [run.get(query_id, []) for run in stored]
            for mode in modes:
                ranked = await self._ranked_query(
                    asked.identity, asked.filters, mode, request.text, asked.lang, request.as_of
                )
                rankings.append(ranked.ranked)
            judged = [j for j in suite.judgements if j.query_id == query_id]
            pool.append(
                await pooled_question(
                    self._database, asked.identity, request, rankings, judged, depth=depth, judge=judge
                )
            )
            if progress:
                progress(done, len(suite.requests))
        return JudgingSession(pool, suite.judgements, JudgementLog(suite.log), judge)

    async def import_spans(
        self,
        into: Path,
        draft: SuiteDraft,
        *,
        manifest: Manifest,
        graded: Sequence[GradedTrace] = (),
        judge: str = "import",
    ) -> Imported:
        """Binds graded spans, and graded hits of stored traces, to the texts that are ingested, and makes a suite of them,
        or adds to the one that is there. Raises UsageError for a trace or a text that the caller may not read."""
        identity = await self.identity()
        traced = of_traces([(one, await self.trace(one.trace_id)) for one in graded])
        rows = with_source((*draft.spans, *traced.spans), manifest.sources)
        documents = {(r.source, r.external_id) for r in rows}
        rows = with_revision(rows, await current_revisions(self._database, identity, documents))
        texts = await passages_of(self._database, identity, {r.place for r in rows})
        judgements = judgements_of(rows, texts, judge)
        whole = replace(draft, queries={**draft.queries, **traced.queries})
        if is_suite(into):
            return await asyncio.to_thread(add_to_suite, into, whole, judgements)
        stated = replace(manifest, sources=manifest.sources or tuple(sorted({r.source for r in rows})))
        return await asyncio.to_thread(write_suite, into, stated, whole, judgements)


def _narrowed(filters: Filters, of_suite: Sequence[str], source: str | None) -> Filters:
    """The query's own filters within the source that is evaluated: the given one, else those that the suite is about. Raises
    UsageError where they leave none."""
    sources = (source,) if source else tuple(of_suite) or None
    if source is None and filters.sources is not None:
        sources = filters.sources
    elif filters.sources is not None and source not in filters.sources and len(filters.sources) != 1:
        raise UsageError(
            f"it looks in {', '.join(filters.sources)}, and not in {source}", fix="leave out --source"
        )
    return replace(filters, sources=sources)


def _keeper(asking: Mapping[str, AskedAs]) -> Identity | None:
    """Who keeps a run: in the tenant that was searched, with all the roles that searched. None where several tenants were."""
    acting = [asked.identity for asked in asking.values()]
    if len({identity.tenant_id for identity in acting}) != 1:
        return None
    return replace(acting[0], roles=tuple(dict.fromkeys(role for who in acting for role in who.roles)))


def _ranked_items(hit: Hit) -> Iterator[RankedItem]:
    """The hit's document, and those that say the same. Where in these is not known here."""
    for document in (hit.document, *hit.also):
        spans = hit.spans if document is hit.document else ()
        place = ChunkPlace(document.source, document.external_id, document.revision, spans)
        yield RankedItem(document.external_id, hit.score, str(hit.chunk_id), place)
