"""`Veraz`, for code that does not await. Generated from engine/ by tools/generate_sync.py: do not edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from veraz.config import Config
from veraz.engine import AsyncVeraz
from veraz.engine.core import ModelProgress, Report
from veraz.engine.corpus import AnyPath
from veraz.evaluation.judging.session import JudgingSession
from veraz.evaluation.statistics import SEED
from veraz.evaluation.suites.importing import GradedTrace, SuiteDraft
from veraz.evaluation.sweeps.pipeline import Loading
from veraz.evaluation.sweeps.pipeline import Progress as SweepProgress
from veraz.ingest.tally import Progress
from veraz.nouns.answer import Answer
from veraz.nouns.context import Context
from veraz.nouns.corpus import Access, AccessRule, Identity, IndexBuilt, IndexKind, IngestReport
from veraz.nouns.diagnosis import Diagnosis, SuiteDiagnosis, Verb
from veraz.nouns.evaluation import EvalReport, RunComparison, RunSummary, StoredRun
from veraz.nouns.evidence import Grouping, Mode, SearchResult
from veraz.nouns.fusion import Fusion
from veraz.nouns.identity import ApiKey, NewKey, Tenant
from veraz.nouns.lexical import ExtensionName, LexicalIndexBuilt
from veraz.nouns.lifecycle import Erasure, Purged, Restored, Retention, Standing
from veraz.nouns.measure import IndexMeasurement, LiveRecall, Method, Origin, Scope
from veraz.nouns.question import Filters
from veraz.nouns.repeated import Repeated
from veraz.nouns.shown import Shown
from veraz.nouns.status import Initialised, Status
from veraz.nouns.suite import Binding, Imported, Manifest
from veraz.nouns.sweep import SweepReport
from veraz.nouns.trace import Trace
from veraz.ops import store as ops_store
from veraz.ops.measure.methods import USUAL
from veraz.ops.measure.pipeline import Progress as MeasureProgress
from veraz.portal import Portal
from veraz.providers.ports import CountTokens, Embedder, LexicalEngine


class Veraz:
    """An open database and the identity that acts on it, for code that does not await.

    Use it as a context manager, or call `close`. Every call runs on one background event loop, so it works in threads,
    scripts and notebooks alike; calls from several threads run side by side. Errors come as they were raised, and Ctrl-C
    ends the call. `AsyncVeraz` is the same for code that awaits.
    """

    def __init__(self, engine: AsyncVeraz, portal: Portal) -> None:
        self._engine = engine
        self._portal = portal

    @property
    def config(self) -> Config:
        return self._engine.config

    @classmethod
    def open(
        cls,
        database: str | None = None,
        *,
        config: Config | None = None,
        report: Report | None = None,
        model_progress: ModelProgress | None = None,
        embedder: Embedder | None = None,
        lexical_engine: LexicalEngine | None = None,
        serving: bool = False,
    ) -> Veraz:
        """Connects to `database`, or to the configured one, or starts the embedded server; an embedded schema is made or
        upgraded on the way. `embedder` takes the place of the configured one, `lexical_engine` that of `[search] lexical`: it is
        closed with what is returned here. With `serving` it connects as the login of
        `database.runtime_url`, and refuses one that could pass row-level security by. Raises ConfigError for a URL that cannot
        be read, DatabaseError when the server cannot be reached, is too old, or needs `veraz init`."""
        portal = Portal()
        try:
            return cls(
                portal.run(
                    AsyncVeraz.open(
                        database,
                        config=config,
                        report=report,
                        model_progress=model_progress,
                        embedder=embedder,
                        lexical_engine=lexical_engine,
                        serving=serving,
                    )
                ),
                portal,
            )
        except BaseException:
            portal.close()
            raise

    def close(self) -> None:
        """Closes the connections and ends the background loop. Safe to repeat."""
        if not self._portal.closed:
            try:
                self._portal.run(self._engine.close())
            finally:
                self._portal.close()

    def acting_as(self, identity: Identity) -> Veraz:
        """The same open database and models for another identity, such as one that `authenticate` returned. It shares the
        connections: close the engine that was opened, not this one."""
        return Veraz(self._engine.acting_as(identity), self._portal)

    def __enter__(self) -> Veraz:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def init(self, *, renew_runtime_login: bool = False) -> Initialised:
        """Creates or upgrades schema, roles, embedding space and tenant. Safe to repeat and to run twice at once."""
        return self._portal.run(self._engine.init(renew_runtime_login=renew_runtime_login))

    def identity(self) -> Identity:
        """Who this engine acts as: the configured tenant and roles, unless `acting_as` said otherwise. Raises UsageError for a
        tenant that does not exist or is disabled."""
        return self._portal.run(self._engine.identity())

    def authenticate(self, *, key: str | None = None, token: str | None = None) -> Identity:
        """Who presents an API key or a bearer token, for `acting_as`. Roles come from the stored key, or from a token's claims
        through the mapping of [auth]. Raises AccessDenied, which never repeats the credential; a malformed one reaches no
        database."""
        return self._portal.run(self._engine.authenticate(key=key, token=token))

    def ensure_tenant(self, slug: str) -> Identity:
        """The tenant called `slug`, made when it does not exist, with the configured roles."""
        return self._portal.run(self._engine.ensure_tenant(slug))

    def space(self) -> ops_store.Space:
        """The active embedding space. Raises ConfigError when the configured model or distance is another one: vectors of two
        models are never compared, and those of one never otherwise than they were indexed."""
        return self._portal.run(self._engine.space())

    def add_key(
        self, name: str, *, roles: Sequence[str], expires: str = "365d", may_write: bool = False
    ) -> NewKey:
        """A new API key of the engine's tenant. It opens the labels of `roles`; `expires` is a number of days such as `90d`, a
        date, or `never`. The key itself is in this answer alone."""
        return self._portal.run(self._engine.add_key(name, roles=roles, expires=expires, may_write=may_write))

    def keys(self) -> tuple[ApiKey, ...]:
        """The keys of the engine's tenant, revoked and expired ones too, newest first."""
        return self._portal.run(self._engine.keys())

    def revoke_key(self, prefix: str) -> ApiKey:
        """Refuses the key from the next request on. `prefix` may be the whole key. Raises UsageError where there is none."""
        return self._portal.run(self._engine.revoke_key(prefix))

    def tenants(self) -> tuple[Tenant, ...]:
        """Every tenant, with what it holds."""
        return self._portal.run(self._engine.tenants())

    def add_tenant(self, slug: str, *, name: str | None = None) -> Tenant:
        """Makes a tenant. Raises UsageError when there is one of that slug."""
        return self._portal.run(self._engine.add_tenant(slug, name=name))

    def disable_tenant(self, slug: str) -> Tenant:
        """From the next transaction on nobody acts in it: no key, no token, no command, and no identity obtained before."""
        return self._portal.run(self._engine.disable_tenant(slug))

    def enable_tenant(self, slug: str) -> Tenant:
        """Takes the disabling back."""
        return self._portal.run(self._engine.enable_tenant(slug))

    def remove_tenant(self, slug: str, *, progress: Callable[[int], None] | None = None) -> int:
        """Disables the tenant and erases everything of it, for good: documents, vectors, traces, keys. Returns the number of
        rows; `progress` is told how many are gone. Interrupted, it is run again."""
        return self._portal.run(self._engine.remove_tenant(slug, progress=progress))

    def ingest(
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
        chunker: str | None = None,
        context: str | None = None,
        exclude: Sequence[str] = (),
        prune: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        stdin: BinaryIO | None = None,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Reads files, folders, globs and collections into `source`. What fails is listed in the report; the rest is kept.

        `lang` is an ISO 639-1 code, xx for a language without stop words and stems, or auto (as None): as documents say, else
        detected. `chunker`, such as `parent-child` or `fixed:size=200,overlap=40`, is remembered for the source. `context`:
        none, or llm to have the configured chat model write a line about each chunk; None: as configured. `exclude` holds
        patterns as in a .gitignore file. `prune` deletes the documents of the source that are not found any more; more than
        a fifth of them only when `confirmed`, else CheckFailed. `dry_run` says what would be done, and does nothing."""
        return self._portal.run(
            self._engine.ingest(
                paths,
                source=source,
                name=name,
                license=license,
                authority=authority,
                base_url=base_url,
                jurisdiction=jurisdiction,
                lang=lang,
                acl=acl,
                acl_rule=acl_rule,
                owner=owner,
                readable_from=readable_from,
                readable_until=readable_until,
                revised_at=revised_at,
                supersedes=supersedes,
                chunker=chunker,
                context=context,
                exclude=exclude,
                prune=prune,
                confirmed=confirmed,
                dry_run=dry_run,
                stdin=stdin,
                progress=progress,
            )
        )

    def merge_index(self) -> Mapping[str, int]:
        """Merges the lexical deltas of the tenant now. Returns the postings taken in, by analyser."""
        return self._portal.run(self._engine.merge_index())

    def standing(self, external_id: str, *, source: str) -> Standing:
        """A document as its operator sees it: who may read it, whether it is deleted, by what it is replaced. Raises ItemError
        where there is none."""
        return self._portal.run(self._engine.standing(external_id, source=source))

    def set_access(self, external_id: str, *, source: str, access: Access) -> Access:
        """Who may read a document from the next query on. Returns what held before. Raises ItemError where there is none."""
        return self._portal.run(self._engine.set_access(external_id, source=source, access=access))

    def delete(self, external_id: str, *, source: str, erase: bool = False) -> bool:
        """Hides a document from the next query on, until `restore` or the retention policy; with `erase` its text is removed
        for good, see there. False where there is none, or where that was done before."""
        return self._portal.run(self._engine.delete(external_id, source=source, erase=erase))

    def restore(self, external_id: str, *, source: str) -> Restored:
        """Takes a deletion back, with the labels, the revision and the supersession that the document had. After an erasure
        there is nothing to bring back: its id may be ingested again. Raises ItemError where there is nothing to restore."""
        return self._portal.run(self._engine.restore(external_id, source=source))

    def erase(self, external_id: str, *, source: str, rewrite: bool = False) -> Erasure | None:
        """Removes every text and vector of a document and every text of traces that name it, and vacuums the tables. The
        identity stays as a tombstone, and ingests refuse the id. None where there is no such document. `rewrite` writes
        the tables anew, so that no freed page keeps old bytes; nobody else reads or writes meanwhile. Safe to repeat: what an
        interrupted run left undone is done, and the result says when the text went."""
        return self._portal.run(self._engine.erase(external_id, source=source, rewrite=rewrite))

    def supersede(
        self,
        external_id: str,
        *,
        source: str,
        by: str | None = None,
        since: date | None = None,
        undo: bool = False,
        as_declared: bool = False,
    ) -> Standing:
        """An operator's word, which counts before what documents declare: the document is replaced `by` another of its source
        since a day (None: today); or (`undo`) it counts again, whatever is declared; or (`as_declared`) the word is taken back.
        Raises UsageError for a cycle, naming it, ItemError where a document does not exist."""
        return self._portal.run(
            self._engine.supersede(
                external_id, source=source, by=by, since=since, undo=undo, as_declared=as_declared
            )
        )

    def retention(self) -> Retention:
        """How long the tenant keeps what is no longer current."""
        return self._portal.run(self._engine.retention())

    def set_retention(self, policy: Retention) -> None:
        """Another policy, for the next run of it: nothing is removed now."""
        return self._portal.run(self._engine.set_retention(policy))

    def run_retention(
        self, *, dry_run: bool = False, batch: int = 200, progress: Callable[[int, int], None] | None = None
    ) -> Purged:
        """Removes what the tenant's policy no longer keeps, `batch` rows at a time, each batch in a short transaction of its
        own. It may be stopped at any moment and run again. Neither readers nor writers wait for it."""
        return self._portal.run(self._engine.run_retention(dry_run=dry_run, batch=batch, progress=progress))

    def build_index(
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
        return self._portal.run(
            self._engine.build_index(
                kind,
                m=m,
                ef_construction=ef_construction,
                lists=lists,
                probes=probes,
                oversampling=oversampling,
                progress=progress,
            )
        )

    def build_lexical_index(
        self, engine: ExtensionName, *, drop: bool = False, shared_statistics: bool = False
    ) -> LexicalIndexBuilt:
        """Builds the index that `[search] lexical` = `engine` asks, anew where it is there, or drops it. That of pg_textsearch is
        of this tenant alone, one for each language. A table can have one of pg_search, so that one holds every tenant's chunks,
        and its scores weigh words by all of them: with more than one tenant it is refused unless `shared_statistics` says that
        this is wanted. Writers wait while it is built. Raises ConfigError where the extension is not installed or too old,
        UsageError for a login that may not build, DatabaseError where the extension does not take what is asked."""
        return self._portal.run(
            self._engine.build_lexical_index(engine, drop=drop, shared_statistics=shared_statistics)
        )

    def measure_index(
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
        return self._portal.run(
            self._engine.measure_index(
                ks=ks,
                queries=queries,
                suite=suite,
                origin=origin,
                methods=methods,
                filters=filters,
                scope=scope,
                ef_search=ef_search,
                lists=lists,
                probes=probes,
                oversampling=oversampling,
                lexical=lexical,
                seed=seed,
                gates=gates,
                progress=progress,
            )
        )

    def live_recall(self, *, since: datetime | None = None, gates: Sequence[str] = ()) -> LiveRecall:
        """What the sampled searches of the engine's tenant found of the exact result, day by day since a moment (None: for seven
        days). Gates such as `recall>=0.95` are evaluated, not enforced."""
        return self._portal.run(self._engine.live_recall(since=since, gates=gates))

    def search(
        self,
        question: str,
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        explain: bool = False,
        trace: bool = True,
        as_of: date | None = None,
        group: Grouping | None = None,
        per_document: int | None = None,
        ef_search: int | None = None,
        probes: int | None = None,
        oversampling: int | None = None,
    ) -> SearchResult:
        """The best k chunks that the caller may read. Scores are finite and higher is better; the order is total. With `as_of`
        the revisions are searched that held on that day, under today's permissions and deletions. `group="document"`: the best
        k documents, in `documents`, each with up to `per_document` of its best chunks (0: all that were found; None: as
        configured), joined to passages where they touch; `hits` are these chunks, with the ranks that they have among all.
        `ef_search`, `probes` and `oversampling` say how far the index of the space is read, whichever it has; None: as
        configured. Without `trace` nothing is stored, and the result's `trace_id` leads nowhere."""
        return self._portal.run(
            self._engine.search(
                question,
                k=k,
                mode=mode,
                lang=lang,
                filters=filters,
                fusion=fusion,
                rerank=rerank,
                exact=exact,
                explain=explain,
                trace=trace,
                as_of=as_of,
                group=group,
                per_document=per_document,
                ef_search=ef_search,
                probes=probes,
                oversampling=oversampling,
            )
        )

    def context(
        self,
        question: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        neighbours: int | None = None,
        sections: bool | None = None,
        per_document: int | None = None,
        count_tokens: CountTokens | None = None,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        trace: bool = True,
        as_of: date | None = None,
    ) -> Context:
        """What a reader, such as a chat model, is given for a question: the best k hits and what stands around them, as passages
        of `budget` tokens at most, labels included. Hits come first; then, the best first, their whole section (`sections`)
        and `neighbours` chunks on each side, as far as they fit. Of a document at most `per_document` hits count (0: all).
        `count_tokens` counts with the tokenizer of who will read; None: the embedder's. None elsewhere: as configured.

        What stands around a hit is of the same revision, may be read by the same caller, and meets what the filters say of
        chunks. Raises MalformedResponse where `count_tokens` gives anything but one number a text."""
        return self._portal.run(
            self._engine.context(
                question,
                k=k,
                budget=budget,
                neighbours=neighbours,
                sections=sections,
                per_document=per_document,
                count_tokens=count_tokens,
                mode=mode,
                lang=lang,
                filters=filters,
                fusion=fusion,
                rerank=rerank,
                exact=exact,
                trace=trace,
                as_of=as_of,
            )
        )

    def show(
        self,
        external_id: str,
        *,
        source: str | None = None,
        revision: int | None = None,
        as_of: date | None = None,
    ) -> Shown:
        """A document as it is stored: its revisions, its place in a supersession, the sections and chunks of one revision: the
        current one, or `revision`, or the one that held on the day `as_of`."""
        return self._portal.run(self._engine.show(external_id, source=source, revision=revision, as_of=as_of))

    def repeated(self, source: str, *, least: int = 2, top: int = 20) -> Repeated:
        """What at least `least` documents of a source say to the letter, the `top` texts of most documents, and how much of the
        source that is. Only what the caller may read and a search would look through counts."""
        return self._portal.run(self._engine.repeated(source, least=least, top=top))

    def ask(
        self,
        question: str,
        *,
        lang: str = "auto",
        filters: Filters | None = None,
        k: int | None = None,
        mode: Mode = "hybrid",
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        as_of: date | None = None,
        budget: int | None = None,
    ) -> Answer:
        """An answer of verbatim sentences, each with its citation; a conflict shown; a refusal with its reason; or the fixed
        message of a route, before anything is searched. All four are values and leave a trace; a route is answered, with a
        note, where none can be stored. With `as_of` it rests on the revisions that held on that day, and says which of them
        have changed since. With `budget` only as many hits are read as have that many tokens with their labels, the best
        first, by the embedder's tokenizer; `usage` says what was read."""
        return self._portal.run(
            self._engine.ask(
                question,
                lang=lang,
                filters=filters,
                k=k,
                mode=mode,
                fusion=fusion,
                rerank=rerank,
                exact=exact,
                as_of=as_of,
                budget=budget,
            )
        )

    def trace(self, trace_id: str) -> Trace:
        """A stored trace by its id, or a unique beginning of it."""
        return self._portal.run(self._engine.trace(trace_id))

    def explain_trace(self, trace_id: str) -> Mapping[str, Any]:
        """The stored trace with the live text of what it cites, under the caller's own rights; or that it is gone."""
        return self._portal.run(self._engine.explain_trace(trace_id))

    def evaluate(
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
        return self._portal.run(
            self._engine.evaluate(
                folder,
                source=source,
                qrels=qrels,
                ks=ks,
                modes=modes,
                rerank=rerank,
                gates=gates,
                out=out,
                trec_run=trec_run,
                baseline=baseline,
                where=where,
                progress=progress,
                ingest_progress=ingest_progress,
            )
        )

    def check_suite(
        self, folder: Path, *, source: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Binding:
        """Whether a suite can be evaluated on what is ingested: every file is read, and each judged span is looked for in
        the current revision of its document and in its chunks, for who asks. Nothing is searched. Raises UsageError for what
        is wrong in a file."""
        return self._portal.run(self._engine.check_suite(folder, source=source, progress=progress))

    def judging(
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
        return self._portal.run(
            self._engine.judging(folder, judge=judge, runs=runs, modes=modes, depth=depth, progress=progress)
        )

    def import_spans(
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
        return self._portal.run(
            self._engine.import_spans(into, draft, manifest=manifest, graded=graded, judge=judge)
        )

    def sweep(
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
        return self._portal.run(
            self._engine.sweep(
                suites,
                grid=grid,
                out=out,
                folds=folds,
                seed=seed,
                measure=measure,
                sources=sources,
                tenants=tenants,
                qrels=qrels,
                corpora=corpora,
                remove_tenants=remove_tenants,
                progress=progress,
                loading=loading,
            )
        )

    def eval_runs(self, *, dataset: str | None = None, top: int = 20) -> tuple[RunSummary, ...]:
        """Stored runs that the caller may read, newest first, of all datasets or of one. An operator is shown those of the
        tenants that evaluations made for collections of their own, too."""
        return self._portal.run(self._engine.eval_runs(dataset=dataset, top=top))

    def eval_run(self, name: str) -> StoredRun:
        """A run by its folder or per-query file, or by its id or a unique beginning of it. Files are the operator's: who
        presented a credential names ids alone. Raises UsageError where there is none that the caller may read, or where several
        ids begin so."""
        return self._portal.run(self._engine.eval_run(name))

    def compare_runs(
        self, names: Sequence[str], *, measures: Sequence[str] = (), changed: int = 10
    ) -> tuple[RunComparison, ...]:
        """Each further run against the first, query by query, corrected for all comparisons. Names are as in `eval_run`. Raises
        UsageError, saying why, for runs that cannot be compared."""
        return self._portal.run(self._engine.compare_runs(names, measures=measures, changed=changed))

    def diagnose(
        self,
        question: str,
        *,
        expect: str,
        source: str | None = None,
        fact: str | None = None,
        k: int | None = None,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        as_of: date | None = None,
        verb: Verb = "ask",
    ) -> Diagnosis:
        """The first stage that lost an expected passage on its way into an answer (`verb` search: into the hits), and the
        smallest change that brings it back. `expect` is an external id, or one with the order of a chunk, `ID#3`; `source` the
        source that holds it, where several do; `fact` text that must be in the passage. Leaves no trace and writes nothing. What
        the caller may not know of is told as what was never ingested: labels that are missing and failures are the operator's
        to know. Raises UsageError where several sources hold the id."""
        return self._portal.run(
            self._engine.diagnose(
                question,
                expect=expect,
                source=source,
                fact=fact,
                k=k,
                mode=mode,
                lang=lang,
                filters=filters,
                fusion=fusion,
                rerank=rerank,
                exact=exact,
                as_of=as_of,
                verb=verb,
            )
        )

    def diagnose_suite(
        self,
        folder: Path | None = None,
        *,
        run: Path | None = None,
        source: str | None = None,
        qrels: Path | None = None,
        k: int = 10,
        mode: Mode = "hybrid",
        where: str | None = None,
        most: int = 200,
        progress: Callable[[int, int], None] | None = None,
        ingest_progress: Progress | None = None,
    ) -> SuiteDiagnosis:
        """Why the relevant documents of a judged folder are not among the first k: each with its stage, clustered. A folder with
        a corpus is loaded into a tenant of its own, as `evaluate` does. `run` takes what was found from a stored run (its folder
        or per-query file) in place of searching; without a folder only misses that the file lists can be told. At most `most`
        are followed, evenly over all misses; the rest is counted. Raises UsageError where neither is given."""
        return self._portal.run(
            self._engine.diagnose_suite(
                folder,
                run=run,
                source=source,
                qrels=qrels,
                k=k,
                mode=mode,
                where=where,
                most=most,
                progress=progress,
                ingest_progress=ingest_progress,
            )
        )

    def status(self) -> Status:
        """Of the whole database, all tenants together: the operator's."""
        return self._portal.run(self._engine.status())
