"""The story of Veraz, and the page to read first.

    ingest   discover ─ parse ─ chunk ─ embed ─ one transaction per revision
    search   embed the question ─ both arms inside PostgreSQL ─ fuse ─ read the hits ─ trace
    ask      route ─ search ─ select sentences ─ sufficiency ─ conflicts ─ validate ─ outcome, citations, trace

This module composes the stages, which never import each other. `AsyncVeraz` is written by hand; the synchronous `Veraz` is
generated from it (sync.py).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import msgspec

from veraz import __version__
from veraz.answer import outcome
from veraz.answer import store as answer_store
from veraz.answer.pipeline import Draft, Evidence, assess, compose
from veraz.answer.words import subject_words
from veraz.config import Config, load
from veraz.db.embedded import EmbeddedServer
from veraz.db.session import OPS_ROLE, RUNTIME_ROLE, Connection, Database, login_url, redact
from veraz.errors import ConfigError, DatabaseError, ItemError, UsageError
from veraz.evaluation.dataset import Dataset, load_dataset
from veraz.evaluation.pipeline import evaluate as run_evaluation
from veraz.evaluation.report import read_baseline, write_report
from veraz.identity import store as identities
from veraz.ingest import discover as discovery
from veraz.ingest import store as ingest_store
from veraz.ingest.chunk import CHUNKER
from veraz.ingest.pipeline import Ingest, Progress
from veraz.ingest.plan import Overrides, analyser_for, check_access, check_source
from veraz.nouns.answer import Answer, Superseded
from veraz.nouns.corpus import AccessRule, Identity, IngestReport, RawItem, SourceSettings
from veraz.nouns.evaluation import EvalReport, RankedItem, RankedQuery
from veraz.nouns.evidence import Mode, SearchResult
from veraz.nouns.question import Filters
from veraz.nouns.shown import Shown
from veraz.nouns.status import Check, Initialised, LexicalState, Status
from veraz.nouns.trace import Trace
from veraz.ops import store as ops_store
from veraz.ops.health import checks
from veraz.ops.show import show_document
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.langid import LocalDetector
from veraz.providers.ports import Embedder, LanguageDetector
from veraz.query.clean import check_filters, clean_question
from veraz.query.route import route
from veraz.schema.apply import (
    OWNER,
    Applied,
    analyse_tables,
    apply_schema,
    ensure_space,
    installed_version,
    latest_version,
    replay_digest,
)
from veraz.search import store as search_store
from veraz.search.pipeline import SearchRequest, SearchRun, Timer, few_rows, run_search
from veraz.text.decode import require_storable
from veraz.traces import store as traces
from veraz.traces.record import answer_record, explained, search_record

Report = Callable[[str], None]
"""Called with one line when something slow begins: a server starts, a model is prepared."""
ModelProgress = Callable[[str, int, int], None]
"""Called with the stage, what is done and the total while the embedding model is prepared."""
AnyPath = str | os.PathLike[str]
BULK_CHUNKS = 1000
"""A run that wrote this many chunks is followed by fresh planner statistics."""


class AsyncVeraz:
    """An open database and the identity that acts on it. Use as an async context manager, or call `close`."""

    def __init__(
        self,
        config: Config,
        database: Database,
        report: Report,
        model_progress: ModelProgress | None,
        embedder: Embedder | None = None,
        *,
        embedded: bool = False,
    ) -> None:
        self.config = config
        self._database = database
        self._embedded = embedded
        self._report = report
        self._model_progress = model_progress
        self._embedder = embedder
        self._detector: LanguageDetector | None = None
        self._identity: Identity | None = None
        self._space: ops_store.Space | None = None

    @classmethod
    async def open(
        cls,
        database: str | None = None,
        *,
        config: Config | None = None,
        report: Report | None = None,
        model_progress: ModelProgress | None = None,
        embedder: Embedder | None = None,
    ) -> AsyncVeraz:
        """Connects to `database`, or to the configured one, or starts the embedded server; an embedded schema is made or
        upgraded on the way. `embedder` takes the place of the configured one. Raises DatabaseError when the server cannot be
        reached, is too old, or needs `veraz init`."""
        config = config or load(flags={"database.url": database})
        say = report or (lambda _: None)
        url = database or config.database.url
        embedded = not url
        if embedded:
            url = await asyncio.to_thread(EmbeddedServer(config.home_path).ensure_running, say)
        opened = await Database.open(url, max_size=config.database.pool_size)
        veraz = cls(config, opened, say, model_progress, embedder, embedded=embedded)
        try:
            await veraz._check_schema()
        except BaseException:
            await veraz.close()
            raise
        return veraz

    async def close(self) -> None:
        await self._database.close()

    async def __aenter__(self) -> AsyncVeraz:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- set-up

    async def init(self, *, renew_runtime_login: bool = False) -> Initialised:
        """Creates or upgrades schema, roles, embedding space and tenant. Safe to repeat and to run twice at once."""
        applied, space = await self._install(renew=renew_runtime_login)
        password = applied.runtime_password
        url = login_url(self._database.url, RUNTIME_ROLE, password) if password else None
        return Initialised(
            applied.version, applied.migrations, applied.replayed, space, self.config.tenant, url
        )

    async def _install(self, *, renew: bool = False) -> tuple[Applied, str]:
        embedder = await self._open_embedder()
        async with self._database.administration() as connection:
            applied = await apply_schema(connection, renew_runtime_password=renew)
            await ensure_space(connection, embedder.space)
        await self._database.refresh_capabilities()
        async with self._database.maintenance() as connection:
            await ingest_store.create_tenant(connection, self.config.tenant)
        return applied, embedder.space.name

    async def _check_schema(self) -> None:
        """Makes or upgrades the schema of the embedded server; another server's is its administrator's to change."""
        if not self._embedded:
            return
        async with self._database.administration() as connection:
            installed = await installed_version(connection)
        if installed != (latest_version(), replay_digest()):
            self._report("preparing the database")
            await self._install()
            # `veraz demo` may be what made it, in a tenant of its own
            await self.ensure_tenant(Config().tenant)

    async def _installed(self) -> None:
        async with self._database.administration() as connection:
            installed = await installed_version(connection)
        if installed is None or installed[0] < latest_version():
            raise DatabaseError(
                f"the database at {redact(self._database.url)} has no Veraz schema of this version",
                fix="veraz init --database URL (as an administrator)",
            )

    async def identity(self) -> Identity:
        """Who this engine acts as: the configured tenant and roles, unless `acting_as` said otherwise. Raises UsageError for a
        tenant that does not exist or is disabled."""
        if self._identity is None:
            require_storable("tenant", self.config.tenant)
            await self._installed()
            async with self._database.authentication() as connection:
                found = await identities.find_tenant(connection, self.config.tenant)
            if found is None:
                raise UsageError(
                    f"no tenant {self.config.tenant!r}, or it is disabled",
                    fix=f"check --tenant and `veraz tenant list`, or make it with: veraz init --tenant {self.config.tenant}",
                )
            self._identity = Identity(found, self.config.tenant, tuple(self.config.roles))
        return self._identity

    def acting_as(self, identity: Identity) -> AsyncVeraz:
        """The same open database and models for another identity, such as one that `authenticate` returned. It shares the
        connections: close the engine that was opened, not this one."""
        other = copy(self)
        other._identity = identity
        return other

    # --- ingest

    async def ingest(
        self,
        paths: AnyPath | Sequence[AnyPath],
        *,
        source: str,
        name: str | None = None,
        license: str | None = None,
        authority: int | None = None,
        base_url: str | None = None,
        jurisdiction: str | None = None,
        lang: str | None = None,
        acl: Sequence[str] | None = None,
        acl_rule: AccessRule | None = None,
        owner: str | None = None,
        readable_from: datetime | None = None,
        readable_until: datetime | None = None,
        revised_at: date | None = None,
        supersedes: str | None = None,
        stdin: BinaryIO | None = None,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Reads files, folders, globs and collections into `source`. What fails is listed in the report; the rest is kept."""
        settings = SourceSettings(source, name, license, jurisdiction, authority, base_url)
        check_source(settings)
        require_storable("supersedes", supersedes, lang)
        access = check_access(acl, acl_rule, owner, readable_from, readable_until)
        overrides = Overrides(lang=lang, revised_at=revised_at, access=access, supersedes=supersedes)
        items = discovery.discover(_listed(paths), stdin=stdin)
        return await self._ingest(await self.identity(), items, settings, overrides, progress)

    async def _ingest(
        self,
        identity: Identity,
        items: Iterator[RawItem | ItemError],
        settings: SourceSettings,
        overrides: Overrides,
        progress: Progress | None,
    ) -> IngestReport:
        space = await self.space()
        run = Ingest(
            self._database,
            identity,
            await self._open_embedder(),
            space.space_id,
            source=settings,
            overrides=overrides,
            detector=self._open_detector(),
            chunk_tokens=self.config.ingest.chunk_tokens,
            progress=progress,
        )
        report = await run.run(items)
        if report.chunks >= BULK_CHUNKS:
            await self._analyze()
        return report

    async def _analyze(self) -> None:
        space = await self.space()
        async with self._database.administration() as connection:
            await analyse_tables(connection, space.space_id)

    async def delete(self, external_id: str, *, source: str) -> bool:
        """Hides a document from the next query on. False where there is none."""
        require_storable("document", external_id, source)
        async with self._database.transaction(await self.identity(), "write") as connection:
            return await ingest_store.delete_document(connection, source, external_id) is not None

    async def merge_index(self) -> Mapping[str, int]:
        """Merges the lexical deltas of the tenant now. Returns the postings taken in, by analyser."""
        identity = await self.identity()
        async with self._database.transaction(identity, "write") as connection:
            pending = await ingest_store.pending_postings(connection)
        merged = {}
        for entry in pending:  # a transaction each: a merge that holds one analyser never waits for another
            async with self._database.transaction(identity, "write") as connection:
                merged[entry.analyser] = await ingest_store.merge_postings(connection, entry.analyser)
        return merged

    # --- search

    async def search(
        self,
        question: str,
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Literal["minmax", "rrf"] | None = None,
        exact: bool = False,
        explain: bool = False,
        trace: bool = True,
        as_of: date | None = None,
    ) -> SearchResult:
        """The best k chunks that the caller may read. Scores are finite and higher is better; the order is total. With `as_of`
        the revisions are searched that held on that day, under today's permissions and deletions."""
        question, identity = clean_question(question), await self.identity()
        run = await self._search(identity, question, k, mode, lang, filters, fusion, exact, explain, as_of)
        result = await self._assessed(identity, run)
        if trace:
            await self._keep_search(result)
        return result

    async def _assessed(self, identity: Identity, run: SearchRun) -> SearchResult:
        """The result with the probability that its best hits can answer the question."""
        timer = Timer()
        with timer.stage("sufficiency"):
            best = replace(run.result, hits=run.result.hits[: self.config.answer.evidence])
            found = assess(await self._gather(identity, run.result.question, replace(run, result=best)))
        timings = dict(run.result.timings_ms)
        total = timings.pop("total", 0.0) + timer.stages["sufficiency"]
        return replace(
            run.result,
            sufficiency=0.0 if found.lacking else round(found.probability, 4),
            threshold=self.config.answer.threshold,
            timings_ms={**timings, **timer.stages, "total": round(total, 3)},
        )

    async def _search(
        self,
        identity: Identity,
        question: str,
        k: int,
        mode: Mode,
        lang: str,
        filters: Filters | None,
        fusion: str | None,
        exact: bool,
        explain: bool,
        as_of: date | None = None,
    ) -> SearchRun:
        if k < 1:
            raise UsageError(f"k is {k}", fix="ask for at least one hit: -k 10")
        check_filters(lang, filters or Filters())
        embedder = None if mode == "lexical" else await self._open_embedder()
        space = None if mode == "lexical" else await self.space()
        async with self._database.transaction(identity) as connection:
            size = await search_store.corpus_size(connection, space.space_id if space else None)
        spoken = await self._question_lang(size, question, lang)
        request = SearchRequest(
            question=question,
            lang=spoken,
            analyser=analyser_for(spoken),
            mode=mode,
            k=k,
            filters=filters or Filters(),
            fusion=fusion,
            exact=exact,
            explain=explain,
            as_of=as_of,
            few=few_rows(size.own, size.indexed, self.config.search.pool),
        )
        return await run_search(
            self._database, identity, embedder, space.space_id if space else None, self.config.search, request
        )

    async def _question_lang(self, size: search_store.CorpusSize, question: str, lang: str) -> str:
        """The question's language: stated, or the corpus's only one, or detected, or the corpus's most frequent one."""
        if lang not in ("auto", "any"):
            return lang
        if len(size.analysers) <= 1:
            return size.analysers[0] if size.analysers else "en"
        return await asyncio.to_thread(self._open_detector().detect, question) or size.analysers[0]

    async def _keep_search(self, result: SearchResult) -> None:
        async with self._database.transaction(await self.identity(), "read") as connection:
            await traces.insert(
                connection, result.trace_id, "search", result.question, result.outcome, search_record(result)
            )

    async def show(
        self,
        external_id: str,
        *,
        source: str | None = None,
        revision: int | None = None,
        as_of: date | None = None,
    ) -> Shown:
        """A document as it is stored: its revisions, its place in a supersession, the sections and chunks of one revision: the
        current one, or `revision`, or the one that held on the day `as_of`."""
        if revision is not None and as_of is not None:
            raise UsageError("both a revision and a day are given", fix="name one of them")
        require_storable("document", external_id, source)
        async with self._database.transaction(await self.identity()) as connection:
            return await show_document(connection, external_id, source, revision, as_of)

    # --- answers

    async def ask(
        self,
        question: str,
        *,
        lang: str = "auto",
        filters: Filters | None = None,
        k: int | None = None,
        mode: Mode = "hybrid",
        as_of: date | None = None,
    ) -> Answer:
        """An answer of verbatim sentences, each with its citation; a conflict shown; a refusal with its reason; or the fixed
        message of a route, before anything is searched. All four are values and leave a trace. With `as_of` it rests on the
        revisions that held on that day, and says which of them have changed since."""
        identity, timer, question = await self.identity(), Timer(), clean_question(question)
        with timer.stage("route"):
            rule = route(question, None if lang in ("auto", "any") else lang)
        if rule is not None:
            answer = outcome.routed(question, rule, identity, timer.finish(), self.config.answer.threshold)
            await self._keep_answer(identity, answer, {})
            return answer
        with timer.stage("model"):
            await self._open_embedder()
        with timer.stage("search"):
            evidence = k or self.config.answer.evidence
            run = await self._search(
                identity, question, evidence, mode, lang, filters, None, False, False, as_of
            )
        with timer.stage("evidence"):
            gathered = await self._gather(identity, question, run)
        with timer.stage("compose"):
            draft = await compose(
                gathered, await self._open_embedder(), self.config.answer, self.config.answer.threshold
            )
        with timer.stage("supersession"):
            superseded = await self._replaced(identity, draft, run)
        answer = outcome.drafted(
            question, draft, run.result, superseded, identity, timer.finish(), self.config.answer.threshold
        )
        await self._keep_answer(identity, answer, {"signals": draft.signals, **search_record(run.result)})
        return answer

    async def _gather(self, identity: Identity, question: str, run: SearchRun) -> Evidence:
        result = run.result
        words = subject_words(question, result.lang)
        revisions = {h.document.revision_id for h in result.hits if h.document.revision_id}
        async with self._database.transaction(identity) as connection:
            weights = await answer_store.word_weights(connection, words, analyser_for(result.lang))
            texts = await answer_store.revision_texts(connection, sorted(revisions))
        tops = {arm: tuple(c.chunk_id for c in candidates) for arm, candidates in run.arms.items()}
        return Evidence(
            question=question,
            lang=result.lang,
            space=(await self.space()).spec.name if run.arms.get("semantic") else "",
            hits=result.hits,
            texts=texts,
            words=weights,
            vector=run.vector,
            dense_pool=tuple(c.score for c in run.arms.get("semantic", ())),
            lexical_top=tops.get("lexical", ()),
            semantic_top=tops.get("semantic", ()),
        )

    async def _replaced(self, identity: Identity, draft: Draft, run: SearchRun) -> tuple[Superseded, ...]:
        """What the cited documents replaced, so that a reader learns that guidance changed."""
        cited = {(c.source, c.external_id) for c in draft.citations}
        ids = {
            h.document.document_id
            for h in run.result.hits
            if (h.document.source, h.document.external_id) in cited
        }
        if not ids:
            return ()
        async with self._database.transaction(identity) as connection:
            return await answer_store.replaced_documents(connection, sorted(i for i in ids if i))

    async def _keep_answer(self, identity: Identity, answer: Answer, search: Mapping[str, Any]) -> None:
        record = {**search, **answer_record(answer)}
        async with self._database.transaction(identity) as connection:
            await traces.insert(connection, answer.trace_id, "ask", answer.question, answer.outcome, record)

    # --- evaluation

    async def evaluate(
        self,
        folder: Path,
        *,
        source: str | None = None,
        qrels: Path | None = None,
        ks: Sequence[int] = (5, 10, 20, 100),
        modes: Sequence[Mode] = ("hybrid",),
        gates: Sequence[str] = (),
        out: Path | None = None,
        trec_run: Path | None = None,
        baseline: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        ingest_progress: Progress | None = None,
    ) -> tuple[EvalReport, ...]:
        """Runs the judged queries of a BEIR-layout folder, once per mode. A folder with a corpus is loaded into a tenant of its
        own; one without, and any with `source`, is evaluated on what is ingested. Gates are evaluated, not enforced: see
        `evaluation.gates.require`."""
        dataset = await asyncio.to_thread(load_dataset, folder, qrels=qrels)
        earlier = read_baseline(baseline, fingerprint=dataset.fingerprint) if baseline else None
        loaded = dataset.corpus_path is not None and source is None
        identity = (
            await self._evaluation_tenant(dataset, ingest_progress) if loaded else await self.identity()
        )
        filters = Filters(sources=(source,) if source else None)
        reports = []
        for mode in modes:
            report = await run_evaluation(
                dataset,
                partial(self._ranked_query, identity, filters, mode),
                ks=ks,
                mode=mode,
                gates=gates,
                progress=progress,
                config=await self._evaluation_config(mode, source),
                readable=await self._readable(identity, dataset, source),
                baseline=earlier,
            )
            suffix = f"-{mode}" if len(modes) > 1 else ""
            report = write_report(
                report,
                out=out.with_name(out.name + suffix) if out else None,
                trec_run=trec_run.with_name(trec_run.stem + suffix + trec_run.suffix) if trec_run else None,
            )
            await self._keep_run(identity, report)
            reports.append(report)
        return tuple(reports)

    async def _evaluation_tenant(self, dataset: Dataset, progress: Progress | None) -> Identity:
        assert dataset.corpus_path is not None
        identity = await self.ensure_tenant(dataset.tenant)
        items = discovery.discover([str(dataset.corpus_path)])
        report = await self._ingest(identity, items, SourceSettings("corpus"), Overrides(), progress)
        if report.failed:
            first = report.errors[0]
            raise ItemError(
                f"{report.failed} documents of the corpus failed; the first: {first.reason}",
                path=first.path,
                external_id=first.external_id,
                stage=first.stage,
            )
        return identity

    async def ensure_tenant(self, slug: str) -> Identity:
        """The tenant called `slug`, made when it does not exist, with the configured roles."""
        await self._installed()
        async with self._database.maintenance() as connection:
            await ingest_store.create_tenant(connection, slug)
        async with self._database.authentication() as connection:
            tenant_id = await identities.find_tenant(connection, slug)
        assert tenant_id is not None
        return Identity(tenant_id, slug, tuple(self.config.roles))

    async def _ranked_query(
        self, identity: Identity, filters: Filters, mode: Mode, question: str
    ) -> RankedQuery:
        """All fused candidates, so that a document's best chunk decides its place and the pool is the one that search uses."""
        asked, pool = clean_question(question), 2 * self.config.search.pool
        run = await self._search(identity, asked, pool, mode, "auto", filters, None, False, False)
        return RankedQuery(
            ranked=tuple(
                RankedItem(h.document.external_id, h.score, str(h.chunk_id)) for h in run.result.hits
            ),
            timings_ms=run.result.timings_ms,
            empty_arms=tuple(arm for arm, candidates in run.arms.items() if not candidates),
            outcome=run.result.outcome,
        )

    async def _evaluation_config(self, mode: Mode, source: str | None) -> dict[str, Any]:
        space = await self.space()
        return {
            "search": msgspec.to_builtins(self.config.search),
            "chunk_tokens": self.config.ingest.chunk_tokens,
            "chunker": CHUNKER,
            "space": space.spec.name,
            "fingerprint": space.spec.fingerprint,
            "source": source,
            "mode": mode,
            "veraz": __version__,
        }

    async def _readable(self, identity: Identity, dataset: Dataset, source: str | None) -> frozenset[str]:
        async with self._database.transaction(identity) as connection:
            return await ops_store.readable_documents(connection, sorted(dataset.relevant()), source)

    async def _keep_run(self, identity: Identity, report: EvalReport) -> None:
        async with self._database.transaction(identity, "write") as connection:
            await ops_store.insert_run(connection, report)

    # --- explanation

    async def trace(self, trace_id: str) -> Trace:
        """A stored trace by its id, or a unique beginning of it."""
        async with self._database.transaction(await self.identity()) as connection:
            return await traces.find(connection, trace_id)

    async def explain_trace(self, trace_id: str) -> Mapping[str, Any]:
        """The stored trace with the live text of what it cites, under the caller's own rights; or that it is gone."""
        async with self._database.transaction(await self.identity()) as connection:
            found = await traces.find(connection, trace_id)
            live = await traces.live_quotes(connection, found)
        return explained(found, live, self.config.tenant)

    # --- looking after it

    async def status(self) -> Status:
        await self._installed()
        async with self._database.maintenance() as connection:
            counted = await ops_store.counts(connection)
            spaces = await ops_store.spaces(connection)
            lexical = await ops_store.lexical_state(connection)
            health = await self._health(connection, lexical)
        capabilities = self._database.capabilities
        return Status(
            version=__version__,
            database={
                "embedded": self._embedded,
                "server_version": capabilities.server_version,
                "pgvector": capabilities.pgvector,
                "url": redact(self._database.url),
                "roles": {"runtime": RUNTIME_ROLE, "owner": OWNER, "maintenance": OPS_ROLE},
            },
            schema_version=latest_version(),
            spaces=tuple(
                {
                    "name": s.spec.name,
                    "model": s.spec.model,
                    "dimension": s.spec.dimension,
                    "active": s.is_active,
                }
                for s in spaces
            ),
            counts=counted,
            lexical=lexical,
            health=health,
        )

    async def _health(self, connection: Connection, lexical: Sequence[LexicalState]) -> tuple[Check, ...]:
        broken = await ops_store.invalid_indexes(connection)
        return checks(broken, lexical, await ops_store.dead_rows(connection))

    async def space(self) -> ops_store.Space:
        """The active embedding space. Raises ConfigError when the configured model is another one: vectors of two models are
        never compared."""
        if self._space is None:
            await self._installed()
            async with self._database.authentication() as connection:
                active = next((s for s in await ops_store.spaces(connection) if s.is_active), None)
            if active is None:
                raise DatabaseError("no embedding space is active", fix="veraz init")
            configured = (await self._open_embedder()).space
            if configured != active.spec:
                raise ConfigError(
                    f"the corpus is embedded with {active.spec.model} ({active.spec.name}, {active.spec.fingerprint[:12]}), "
                    f"but the configuration names {configured.model} ({configured.name}, {configured.fingerprint[:12]})",
                    fix="set [embedder] back, or give the other model a database of its own: veraz init --database URL",
                )
            self._space = active
        return self._space

    async def _open_embedder(self) -> Embedder:
        if self._embedder is None:
            settings = self.config.embedder
            self._embedder = await asyncio.to_thread(
                open_embedder,
                settings.name,
                cache=self.config.model_cache,
                options=settings.options,
                progress=self._model_progress,
            )
        return self._embedder

    def _open_detector(self) -> LanguageDetector:
        if self._detector is None:
            self._detector = LocalDetector()
        return self._detector


def _listed(paths: AnyPath | Sequence[AnyPath]) -> list[str]:
    return [os.fspath(p) for p in ((paths,) if isinstance(paths, str | os.PathLike) else paths)]
