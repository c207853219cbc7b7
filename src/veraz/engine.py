"""The story of Veraz, and the page to read first.

    ingest   discover ─ parse ─ chunk ─ embed ─ one transaction per revision
    search   embed the question ─ both arms inside PostgreSQL ─ fuse ─ read the hits ─ trace
    ask      route ─ search ─ select sentences ─ sufficiency ─ conflicts ─ validate ─ outcome, citations, trace

This module composes the stages, which never import each other. `AsyncVeraz` is written by hand; the synchronous `Veraz` is
generated from it (sync.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

import msgspec
from psycopg.errors import InsufficientPrivilege

from veraz import __version__
from veraz.answer import outcome
from veraz.answer import store as answer_store
from veraz.answer.numerals import spelled
from veraz.answer.pipeline import Draft, Evidence, assess, compose
from veraz.answer.words import subject_words
from veraz.assembly.assemble import Assembled, Wanted, evidence_of
from veraz.assembly.pipeline import passages_around
from veraz.config import LEAST_BUDGET, MOST_BUDGET, MOST_NEIGHBOURS, Config, load
from veraz.db.capabilities import read_capabilities
from veraz.db.embedded import EmbeddedServer
from veraz.db.rights import read_rights, require_unprivileged
from veraz.db.session import OPS_ROLE, RUNTIME_ROLE, Connection, Database, login_url, redact, require_writer
from veraz.diagnosis.asked import Asked, Trial
from veraz.diagnosis.looked import Answered, Cited, Group, Looked
from veraz.diagnosis.pipeline import Expected, Surroundings
from veraz.diagnosis.pipeline import diagnose as follow
from veraz.diagnosis.suite import JudgedRun, spread, summarised
from veraz.errors import AccessDenied, ConfigError, DatabaseError, ItemError, UsageError, VerazError
from veraz.evaluation.dataset import Dataset, load_dataset, load_suite
from veraz.evaluation.gates import check as check_gates
from veraz.evaluation.gates import parse_gate
from veraz.evaluation.judging.pipeline import pooled_question
from veraz.evaluation.judging.pool import stored_rankings
from veraz.evaluation.judging.session import JudgingSession
from veraz.evaluation.perquery import read_results
from veraz.evaluation.pipeline import evaluate as run_evaluation
from veraz.evaluation.qrels import write_qrels
from veraz.evaluation.report import write_report
from veraz.evaluation.runs import store as runs_store
from veraz.evaluation.runs.comparison import check_comparable_to, compare_runs
from veraz.evaluation.runs.figures import figures as run_figures
from veraz.evaluation.runs.files import is_place, read_run
from veraz.evaluation.runs.machine import code_digest, machine, packages
from veraz.evaluation.statistics import SEED, bootstrap_interval
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
from veraz.evaluation.sweeps.grid import Base, read_grid
from veraz.evaluation.sweeps.kept import claimed
from veraz.evaluation.sweeps.outcome import write_outcome
from veraz.evaluation.sweeps.pipeline import Loading, Plan, Rerank, SweepSet, check_plan
from veraz.evaluation.sweeps.pipeline import Progress as SweepProgress
from veraz.evaluation.sweeps.pipeline import sweep as run_sweep
from veraz.evaluation.sweeps.sets import read_sets
from veraz.filters.typed import both, resolve
from veraz.identity import store as identities
from veraz.identity.keys import check_name, expiry, key_prefix, make_key
from veraz.identity.pipeline import identify_key, identify_token
from veraz.identity.pipeline import remove_tenant as erase_tenant
from veraz.identity.roles import check_roles, check_slug
from veraz.ingest import discover as discovery
from veraz.ingest import store as ingest_store
from veraz.ingest.chunkers import spelled_out, stated_chunker
from veraz.ingest.context_writers import ChatContext
from veraz.ingest.contexts import ContextRules
from veraz.ingest.listing import list_items
from veraz.ingest.pipeline import Chunking, Ingest, Prune
from veraz.ingest.plan import ANALYSERS, UNKNOWN_ANALYSER, Overrides, analyser_for, check_access, check_source
from veraz.ingest.tally import Progress
from veraz.nouns.answer import Answer, Superseded
from veraz.nouns.context import Context, rendered
from veraz.nouns.corpus import (
    Access,
    AccessRule,
    EmbeddingBatch,
    Identity,
    IndexBuilt,
    IndexKind,
    IngestReport,
    RawItem,
    SourceSettings,
    TextKind,
    TokenBatch,
    Vectors,
)
from veraz.nouns.diagnosis import Diagnosis, Missed, SuiteDiagnosis, Verb
from veraz.nouns.evaluation import EvalReport, RankedItem, RankedQuery, RunComparison, RunSummary, StoredRun
from veraz.nouns.evidence import Grouping, Hit, Mode, SearchResult, by_document
from veraz.nouns.fusion import Fusion
from veraz.nouns.identity import ApiKey, NewKey, Tenant
from veraz.nouns.lexical import EXTENSIONS, ExtensionName, LexicalIndexBuilt
from veraz.nouns.lifecycle import Erasure, Purged, Restored, Retention, Standing
from veraz.nouns.measure import IndexMeasurement, LiveRecall, Method, Origin, Scope
from veraz.nouns.question import Filters, Spoken
from veraz.nouns.repeated import Repeated
from veraz.nouns.rerank import RERANKERS
from veraz.nouns.shown import Shown
from veraz.nouns.status import Check, Initialised, LexicalState, SpaceIndexed, Status
from veraz.nouns.suite import Binding, ChunkPlace, Imported, Manifest, QueryRequest
from veraz.nouns.sweep import IndexSetting, SweepReport
from veraz.nouns.trace import Trace
from veraz.ops import indexes as index_rules
from veraz.ops import lifecycle, retention
from veraz.ops import store as ops_store
from veraz.ops.health import checks
from veraz.ops.indexes import CUTOFFS, check_options, planned, signs_suffice, tried
from veraz.ops.indexes import Plan as IndexPlan
from veraz.ops.measure import recall, series
from veraz.ops.measure import store as measure_store
from veraz.ops.measure.live import Compared, Sampler
from veraz.ops.measure.methods import USUAL, Choices
from veraz.ops.measure.methods import check as check_choices
from veraz.ops.measure.pipeline import IndexState, Measure, Probes, gather
from veraz.ops.measure.pipeline import Progress as MeasureProgress
from veraz.ops.show import show_document
from veraz.providers import ocr
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.embedders.remembered import Remembering
from veraz.providers.jwks import Jwks
from veraz.providers.langid import LocalDetector
from veraz.providers.parsers.pool import ParserPool, ParsersHere
from veraz.providers.parsers.worker import Limits
from veraz.providers.ports import (
    ChatModel,
    CountTokens,
    DocumentParser,
    Embedder,
    KeySet,
    LanguageDetector,
    LexicalEngine,
    TokenEncoder,
)
from veraz.providers.rerankers.registry import READS_TOKENS, OpenedReranker, open_reranker
from veraz.query.clean import (
    MODES,
    check_choice,
    check_count,
    check_day,
    check_names,
    check_search,
    check_type,
    check_within,
    clean_question,
)
from veraz.query.route import route
from veraz.schema import lexical_indexes
from veraz.schema.apply import (
    OWNER,
    Applied,
    analyse_tables,
    another_space,
    apply_schema,
    ensure_space,
    installed_version,
    latest_version,
    lock_installation,
    renew_runtime_password,
    replay_digest,
    vacuum_documents,
)
from veraz.schema.indexes import WantedIndex, exchange
from veraz.search import store as search_store
from veraz.search.ahead import ahead_notes
from veraz.search.engines import pipeline as lexical_engines
from veraz.search.engines import store as engine_store
from veraz.search.fusion import Fused
from veraz.search.measured import MeasuredArms, scored
from veraz.search.pipeline import (
    SearchRequest,
    SearchRun,
    Timer,
    ask_again,
    every_group,
    few_rows,
    run_search,
)
from veraz.search.reranking import Reranking, RerankRun
from veraz.search.syntax import read as read_marks
from veraz.sweeping import SearchBench, configured
from veraz.text.decode import require_storable
from veraz.text.languages import NO_LANGUAGE, check_lang
from veraz.traces import store as traces
from veraz.traces.record import answer_record, explained, search_record

Report = Callable[[str], None]
"""Called with one line when something slow begins: a server starts, a model is prepared."""
ModelProgress = Callable[[str, int, int], None]
"""Called with the stage, what is done and the total while the embedding model is prepared."""
Result = TypeVar("Result")
AnyPath = str | os.PathLike[str]
INIT = "veraz init --database URL (as an administrator)"
CONTEXTS = ("none", "llm")
UNDETERMINED = "und"
"""ISO 639-2, as documents have it whose language nothing tells."""
RECENT = timedelta(days=7)
CORPUS = "corpus"
"""The source into which the corpus of an evaluated folder is loaded."""
NOT_KEPT = "not kept: its queries are asked in several tenants, and none may hold what another's rankings name; --out writes it"
DEEPEST = 1000
"""Chunks among which the documents of a grouped result are looked for."""
GIVEN = "given"
"""Among the lexical engines: the one that the caller brought."""
BULK_CHUNKS = 1000
"""A run that wrote this many chunks is followed by fresh planner statistics."""


@dataclass(frozen=True, slots=True)
class AskedAs:
    """Who asks a judged query, what it may find, and the language that is stated for it."""

    identity: Identity
    filters: Filters
    lang: str


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
        lexical_engine: LexicalEngine | None = None,
    ) -> None:
        self.config = config
        self._database = database
        self._embedded = embedded
        self._report = report
        self._model_progress = model_progress
        self._embedder = embedder
        self._rerankers: dict[str, OpenedReranker] = {}
        self._lexical_engines: dict[str, LexicalEngine] = (
            {GIVEN: lexical_engine} if lexical_engine is not None else {}
        )
        self._opening = asyncio.Lock()
        self._detector: LanguageDetector | None = None
        self._parsers = _parsers(config)
        self._chat = _chat(config)
        self._live = _live(config, database, embedded=embedded)
        self._jwks: KeySet | None = None
        self._identity: Identity | None = None
        self._space: ops_store.Space | None = None
        self._is_installed = False

    @classmethod
    async def open(
        cls,
        database: str | None = None,
        *,
        config: Config | None = None,
        report: Report | None = None,
        model_progress: ModelProgress | None = None,
        embedder: Embedder | None = None,
        lexical_engine: LexicalEngine | None = None,
        serving: bool = False,
    ) -> AsyncVeraz:
        """Connects to `database`, or to the configured one, or starts the embedded server; an embedded schema is made or
        upgraded on the way. `embedder` takes the place of the configured one, `lexical_engine` that of `[search] lexical`: it is
        closed with what is returned here. With `serving` it connects as the login of
        `database.runtime_url`, and refuses one that could pass row-level security by. Raises ConfigError for a URL that cannot
        be read, DatabaseError when the server cannot be reached, is too old, or needs `veraz init`."""
        config = config or load(flags={"database.url": database})
        say = report or (lambda _: None)
        url = database or (config.database.runtime_url if serving else "") or config.database.url
        embedded = not url
        if embedded:
            server = EmbeddedServer(config.home_path)
            url = await asyncio.to_thread(server.ensure_running, say)
            if serving:
                url = await cls._embedded_runtime_url(config, say, embedder, server)
        settings = config.database
        opened = await Database.open(
            url, max_size=settings.pool_size, prepare=settings.prepare, embedded=embedded
        )
        veraz = cls(
            config,
            opened,
            say,
            model_progress,
            embedder,
            embedded=embedded,
            lexical_engine=lexical_engine,
        )
        try:
            await (veraz._check_serving() if serving else veraz._check_schema())
        except BaseException:
            await veraz.close()
            raise
        return veraz

    async def close(self) -> None:
        if self._live is not None:
            await self._live.close()
        await self._parsers.close()
        for opened in self._rerankers.values():
            await opened.reranker.close()
        for engine in self._lexical_engines.values():
            await engine.close()
        if self._chat is not None:
            await self._chat.close()
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
        self._require_operator()
        applied, space = await self._install(renew=renew_runtime_login)
        password = applied.runtime_password
        url = login_url(self._database.url, RUNTIME_ROLE, password) if password else None
        return Initialised(
            applied.version,
            applied.migrations,
            applied.replayed,
            space,
            self.config.tenant,
            url,
            applied.notes,
        )

    async def _install(self, *, renew: bool = False) -> tuple[Applied, str]:
        check_slug(self.config.tenant)
        embedder = await self._open_embedder()
        async with self._database.administration() as connection:
            applied = await apply_schema(connection, renew_runtime_password=renew)
            await ensure_space(connection, embedder.space)
        if self._embedded and applied.runtime_password:
            EmbeddedServer(self.config.home_path).keep_runtime_password(applied.runtime_password)
        await self._database.refresh_capabilities()
        async with self._database.maintenance() as connection:
            await identities.add_tenant(connection, self.config.tenant)
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

    @classmethod
    async def _embedded_runtime_url(
        cls, config: Config, say: Report, embedder: Embedder | None, server: EmbeddedServer
    ) -> str:
        """The embedded server's own unprivileged login. Processes that start at once agree on one password."""
        async with await cls.open(config=config, report=say, embedder=embedder) as administrator:
            database = administrator._database
            async with database.administration() as connection, connection.transaction():
                await lock_installation(connection)
                password = server.runtime_password()
                if password is None:
                    password = await renew_runtime_password(connection)
                    server.keep_runtime_password(password)
            return login_url(database.url, RUNTIME_ROLE, password)

    async def _check_serving(self) -> None:
        async with self._database.administration() as connection:
            require_unprivileged(await read_rights(connection))
        await self._installed()
        if self.config.search.lexical != "postings":
            await self._lexical_engine(await self.identity())

    async def _installed(self) -> None:
        """Raises DatabaseError where tables, functions or policies are not those of this version. Asked once."""
        if not self._is_installed and not await self._is_replayed():
            raise DatabaseError(
                f"functions and policies of the database at {redact(self._database.url)} are those of another version of Veraz",
                fix=INIT,
            )
        self._is_installed = True

    async def _is_replayed(self) -> bool:
        """Whether functions and policies are those of this version; a newer schema has its own. Raises DatabaseError where the
        tables are older."""
        async with self._database.administration() as connection:
            installed = await installed_version(connection)
        if installed is None or installed[0] < latest_version():
            raise DatabaseError(
                f"the database at {redact(self._database.url)} has no Veraz schema of this version", fix=INIT
            )
        return installed[0] > latest_version() or installed[1] == replay_digest()

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
                    fix=f"check --tenant and `veraz tenant list`, or make it with: veraz tenant add {self.config.tenant}",
                )
            self._identity = Identity(*found, tuple(self.config.roles), operator=True)
        return self._identity

    async def authenticate(self, *, key: str | None = None, token: str | None = None) -> Identity:
        """Who presents an API key or a bearer token, for `acting_as`. Roles come from the stored key, or from a token's claims
        through the mapping of [auth]. Raises AccessDenied, which never repeats the credential; a malformed one reaches no
        database."""
        if (key is None) == (token is None):
            raise UsageError("authenticate takes a key or a token", fix="give one of them")
        if key is not None:
            found = await identify_key(self._database, key)
            await self._installed()
            return found
        assert token is not None
        settings = self.config.auth
        if self._jwks is None and settings.jwks:
            self._jwks = Jwks(settings.jwks)
        found = await identify_token(self._database, token, settings, self._jwks, self.config.tenant)
        await self._installed()
        return found

    def acting_as(self, identity: Identity) -> AsyncVeraz:
        """The same open database and models for another identity, such as one that `authenticate` returned. It shares the
        connections: close the engine that was opened, not this one."""
        other = copy(self)
        other._identity = identity
        return other

    def _require_operator(self) -> None:
        """Raises AccessDenied for an engine that acts as who presented a credential: whatever login it holds, what concerns
        keys and tenants is not theirs."""
        identity = self._identity
        if identity is not None and not identity.operator:
            raise AccessDenied(
                f"{identity.subject or 'this credential'} may not do what is the operator's",
                fix="use the veraz command line, or an engine that acts as its own identity",
            )

    async def _writer(self) -> Identity:
        """Who acts, if they may write in their tenant. Asked before any work is done."""
        identity = await self.identity()
        require_writer(identity)
        return identity

    # --- keys and tenants: the operator's

    async def add_key(
        self,
        name: str,
        *,
        roles: Sequence[str],
        expires: str = "365d",
        may_write: bool = False,
    ) -> NewKey:
        """A new API key of the engine's tenant. It opens the labels of `roles`; `expires` is a number of days such as `90d`, a
        date, or `never`. The key itself is in this answer alone."""
        self._require_operator()
        check_names("roles", roles)
        check_type("expires", expires, str)
        kept, secret, name = check_roles(roles), make_key(), check_name(name)
        expires_at = expiry(expires, datetime.now(UTC))
        async with self._database.maintenance((await self.identity()).tenant_id) as connection:
            info = await identities.add_key(
                connection, secret, name=name, roles=kept, may_write=may_write, expires_at=expires_at
            )
        return NewKey(secret.text, info)

    async def keys(self) -> tuple[ApiKey, ...]:
        """The keys of the engine's tenant, revoked and expired ones too, newest first."""
        self._require_operator()
        async with self._database.maintenance((await self.identity()).tenant_id) as connection:
            return await identities.keys(connection)

    async def revoke_key(self, prefix: str) -> ApiKey:
        """Refuses the key from the next request on. `prefix` may be the whole key. Raises UsageError where there is none."""
        self._require_operator()
        public, identity = key_prefix(prefix), await self.identity()
        async with self._database.maintenance(identity.tenant_id) as connection:
            revoked = await identities.revoke_key(connection, public)
        if revoked is None:
            raise UsageError(f"no key {public} in tenant {identity.tenant}", fix="see: veraz key list")
        return revoked

    async def tenants(self) -> tuple[Tenant, ...]:
        """Every tenant, with what it holds."""
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            return await identities.tenants(connection)

    async def add_tenant(self, slug: str, *, name: str | None = None) -> Tenant:
        """Makes a tenant. Raises UsageError when there is one of that slug."""
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            made = await identities.add_tenant(connection, check_slug(slug), name)
            (found,) = await identities.tenants(connection, slug)
        if not made:
            raise UsageError(f"tenant {slug!r} exists already", fix="see: veraz tenant list")
        return found

    async def disable_tenant(self, slug: str) -> Tenant:
        """From the next transaction on nobody acts in it: no key, no token, no command, and no identity obtained before."""
        return await self._set_disabled(slug, True)

    async def enable_tenant(self, slug: str) -> Tenant:
        """Takes the disabling back."""
        return await self._set_disabled(slug, False)

    async def _set_disabled(self, slug: str, disabled: bool) -> Tenant:
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            if await identities.set_disabled(connection, slug, disabled) is None:
                raise UsageError(f"no tenant {slug!r}", fix="see: veraz tenant list")
            (found,) = await identities.tenants(connection, slug)
        return found

    async def remove_tenant(self, slug: str, *, progress: Callable[[int], None] | None = None) -> int:
        """Disables the tenant and erases everything of it, for good: documents, vectors, traces, keys. Returns the number of
        rows; `progress` is told how many are gone. Interrupted, it is run again."""
        self._require_operator()
        await self._installed()
        return await erase_tenant(self._database, slug, progress)

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
        identity = await self._writer()
        check_names("acl", acl)
        check_names("exclude", exclude)
        check_day("revised_at", revised_at)
        check_type("source", source, str)
        if chunker is not None:
            check_type("chunker", chunker, str)
        settings = SourceSettings(source, name, license, jurisdiction, authority, base_url, chunker)
        check_source(settings)
        if chunker is not None:
            stated_chunker(chunker)
        contexts = self._context_rules(context)
        require_storable("supersedes", supersedes)
        access = check_access(acl, acl_rule, owner, readable_from, readable_until)
        overrides = Overrides(
            lang=_document_lang(lang), revised_at=revised_at, access=access, supersedes=supersedes
        )
        named = _listed(paths)
        pruned = await asyncio.to_thread(_prune, named, exclude, confirmed) if prune else None
        items = discovery.discover(named, stdin=stdin, exclude=exclude)
        return await self._ingest(
            identity, items, settings, overrides, progress, context=contexts, prune=pruned, dry_run=dry_run
        )

    async def _ingest(
        self,
        identity: Identity,
        items: Iterator[RawItem | ItemError],
        settings: SourceSettings,
        overrides: Overrides,
        progress: Progress | None,
        *,
        context: ContextRules | None = None,
        prune: Prune | None = None,
        dry_run: bool = False,
    ) -> IngestReport:
        space = await self.space()
        run = Ingest(
            self._database,
            identity,
            await self._open_embedder(),
            space.space_id,
            source=settings,
            overrides=overrides,
            parsers=self._parsers,
            detector=self._open_detector(),
            chunking=self._chunking(),
            ocr=ocr.VERSION if self.config.ingest.ocr and ocr.installed() else "",
            context=context or self._context_rules(None),
            progress=progress,
        )
        if dry_run:
            return await run.preview(items, prune)
        report = await run.run(items, prune)
        if report.chunks >= BULK_CHUNKS:
            await self._analyze()
        return report

    async def _analyze(self) -> None:
        space = await self.space()
        async with self._database.administration() as connection:
            await analyse_tables(connection, space.space_id)

    async def merge_index(self) -> Mapping[str, int]:
        """Merges the lexical deltas of the tenant now. Returns the postings taken in, by analyser."""
        identity = await self._writer()
        async with self._database.transaction(identity, "write") as connection:
            pending = await ingest_store.pending_postings(connection)
        merged = {}
        for entry in pending:  # a transaction each: a merge that holds one analyser never waits for another
            merge = partial(ingest_store.merge_postings, analyser=entry.analyser)
            merged[entry.analyser] = await self._changing(merge)
        return merged

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

    # --- the life of a document

    async def _changing(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """One write transaction of the runtime role, run again after a deadlock."""
        identity = await self._writer()

        async def once() -> Result:
            async with self._database.transaction(identity, "write") as connection:
                return await work(connection)

        return await self._database.again(once)

    async def _removing(self, what: str, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """The same as the maintenance role: the runtime login may not remove what it serves. That role asks nothing about who
        acts, so it is asked here."""
        identity = await self._writer()

        async def once() -> Result:
            async with self._database.maintenance(identity.tenant_id) as connection:
                return await work(connection)

        try:
            return await self._database.again(once)
        except InsufficientPrivilege as error:
            raise UsageError(
                f"this login may not {what}",
                fix="use the administrator's URL, not that of the runtime login: --database URL",
            ) from error

    async def standing(self, external_id: str, *, source: str) -> Standing:
        """A document as its operator sees it: who may read it, whether it is deleted, by what it is replaced. Raises ItemError
        where there is none."""
        async with self._database.transaction(await self.identity(), "write") as connection:
            return await lifecycle.required(connection, source, external_id, "look up", lock=False)

    async def set_access(self, external_id: str, *, source: str, access: Access) -> Access:
        """Who may read a document from the next query on. Returns what held before. Raises ItemError where there is none."""
        labels = None if access.rule == "owner" else access.labels
        checked = check_access(labels, access.rule, access.owner, access.readable_from, access.readable_until)
        assert checked is not None

        async def work(connection: Connection) -> Access:
            found = await lifecycle.required(connection, source, external_id, "change")
            await ingest_store.update_access(connection, found.document_id, checked)
            return found.access

        return await self._changing(work)

    async def delete(self, external_id: str, *, source: str, erase: bool = False) -> bool:
        """Hides a document from the next query on, until `restore` or the retention policy; with `erase` its text is removed
        for good, see there. False where there is none, or where that was done before."""
        if erase:
            erased = await self.erase(external_id, source=source)
            return erased is not None and erased.erased_before is None

        async def work(connection: Connection) -> bool:
            await lifecycle.standing(connection, source, external_id)
            return await ingest_store.delete_document(connection, source, external_id) is not None

        return await self._changing(work)

    async def restore(self, external_id: str, *, source: str) -> Restored:
        """Takes a deletion back, with the labels, the revision and the supersession that the document had. After an erasure
        there is nothing to bring back: its id may be ingested again. Raises ItemError where there is nothing to restore."""
        undelete = partial(lifecycle.restore, source=source, external_id=external_id)
        restored = await self._changing(undelete)
        if restored is None:
            lift = partial(lifecycle.lift_tombstone, source=source, external_id=external_id)
            return await self._removing("lift a tombstone", lift)
        return restored

    async def erase(self, external_id: str, *, source: str, rewrite: bool = False) -> Erasure | None:
        """Removes every text and vector of a document and every text of traces that name it, and vacuums the tables. The
        identity stays as a tombstone, and ingests refuse the id. None where there is no such document. `rewrite` writes
        the tables anew, so that no freed page keeps old bytes; nobody else reads or writes meanwhile. Safe to repeat: what an
        interrupted run left undone is done, and the result says when the text went."""
        removed = await self._removing(
            "erase", partial(lifecycle.erase, source=source, external_id=external_id)
        )
        if removed is None:
            await self._erase_drafts(external_id, source)
            return None
        erasure, transaction = removed
        await self.merge_index()
        return replace(erasure, remains=await self._vacuum_after(transaction, rewrite))

    async def _erase_drafts(self, external_id: str, source: str) -> None:
        """Of a document that never came to be written: a model may have been asked about it."""
        source_id = ingest_store.source_key((await self.identity()).tenant_id, source)
        document_id = ingest_store.document_key(source_id, external_id)
        await self._removing("erase", partial(lifecycle.erase_drafts, document_id=document_id))

    async def _vacuum_after(self, transaction: str, rewrite: bool) -> str | None:
        """Why dead rows may still hold what `transaction` removed; None where they do not."""
        async with self._database.administration() as connection:
            before = await lifecycle.older_readers(connection, transaction, everywhere=rewrite)
            refused = await vacuum_documents(connection, rewrite=rewrite)
            readers = max(before, await lifecycle.older_readers(connection, transaction, everywhere=rewrite))
        if refused:
            return f"this login may not vacuum {', '.join(refused)}"
        return f"{readers} older transactions may still see it; vacuum again after them" if readers else None

    async def supersede(
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
        if (by is not None) + undo + as_declared != 1:
            raise UsageError(
                "say exactly one of by, undo and as_declared",
                fix="veraz supersede OLD --by NEW --source SLUG",
            )
        if by is None:
            work = lifecycle.unsupersede if undo else lifecycle.as_declared
            return await self._changing(partial(work, source=source, old=external_id))
        check_day("since", since)
        if by == external_id:
            raise UsageError(f"{by!r} cannot replace itself", fix="name another document with --by")
        if since is not None and since > datetime.now(UTC).date():
            raise UsageError(
                f"{since} is still to come, and search would hide {external_id!r} from now on",
                fix="supersede it on that day",
            )
        return await self._changing(
            partial(lifecycle.supersede, source=source, old=external_id, new=by, since=since)
        )

    async def retention(self) -> Retention:
        """How long the tenant keeps what is no longer current."""
        async with self._database.transaction(await self.identity()) as connection:
            return await retention.policy_of(connection)

    async def set_retention(self, policy: Retention) -> None:
        """Another policy, for the next run of it: nothing is removed now."""
        retention.check_policy(policy)
        await self._removing("set the policy", partial(retention.set_policy, policy=policy))

    async def run_retention(
        self,
        *,
        dry_run: bool = False,
        batch: int = 200,
        progress: Callable[[int, int], None] | None = None,
    ) -> Purged:
        """Removes what the tenant's policy no longer keeps, `batch` rows at a time, each batch in a short transaction of its
        own. It may be stopped at any moment and run again. Neither readers nor writers wait for it."""
        identity = await self._writer()
        check_count("batch", batch)
        run = retention.Run(self._database, identity, await self.retention(), batch, progress)
        try:
            return await run.run(dry_run=dry_run)
        except InsufficientPrivilege as error:
            raise UsageError(
                "this login may not remove documents",
                fix="use the administrator's URL, not that of the runtime login: --database URL",
            ) from error

    # --- search

    async def search(
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
        configured."""
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta, ef_search=ef_search, probes=probes, oversampling=oversampling,
        )  # fmt: skip
        check_choice("group", group, ("document",), optional=True)
        check_within("per_document", per_document, 0, 1000)
        lang = _question_lang(lang)
        identity = await self.identity()
        ask = partial(
            self._search, identity, question, mode=mode, lang=lang, filters=filters, fusion=fusion,
            exact=exact, explain=explain, as_of=as_of, rerank=rerank, ef_search=ef_search, probes=probes,
            oversampling=oversampling,
        )  # fmt: skip
        run = await (ask(k) if group is None else _deep_enough(ask, k))
        result = await self._assessed(identity, run)
        if group is not None:
            result = await self._by_document(identity, run, result, k, per_document)
        if trace:
            await self._keep_search(result)
        self._sample(identity, run)
        return result

    async def context(
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
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta,
        )  # fmt: skip
        check_within("budget", budget, LEAST_BUDGET, MOST_BUDGET)
        check_within("neighbours", neighbours, 0, MOST_NEIGHBOURS)
        check_within("per_document", per_document, 0, 1000)
        check_type("sections", sections, bool, optional=True)
        given = self.config.context
        most = given.per_document if per_document is None else per_document
        wanted = Wanted(
            budget=given.budget if budget is None else budget,
            neighbours=given.neighbours if neighbours is None else neighbours,
            sections=given.sections if sections is None else sections,
            per_document=most or None,
        )
        identity, timer = await self.identity(), Timer()
        run = await self._search(
            identity, question, self.config.answer.evidence if k is None else k, mode, _question_lang(lang), filters,
            fusion, exact, False, as_of, rerank,
        )  # fmt: skip
        result = await self._assessed(identity, run)
        with timer.stage("assembly"):
            assembled = await self._assembled(identity, run, wanted, count_tokens or await self._counter())
        found = _context(result, wanted, assembled, timer, traced=trace)
        if trace:
            await self._keep_search(result, {"context": _context_record(found, wanted)})
        self._sample(identity, run)
        return found

    async def _assembled(
        self, identity: Identity, run: SearchRun, wanted: Wanted, count_tokens: CountTokens | None
    ) -> Assembled:
        return await passages_around(
            self._database, identity, run.result.hits, run.request.filters, wanted, count_tokens
        )

    async def _counter(self) -> CountTokens:
        """The embedder's tokenizer, without its prefix and special tokens."""
        embedder = await self._open_embedder()
        one, two = embedder.count_tokens(["a", "a a"])
        fixed = max(0, 2 * one - two)
        return lambda texts: [max(0, count - fixed) for count in embedder.count_tokens(texts)]

    async def _by_document(
        self, identity: Identity, run: SearchRun, result: SearchResult, k: int, per_document: int | None
    ) -> SearchResult:
        most = self.config.context.per_document if per_document is None else per_document
        best = set(list(dict.fromkeys(h.document.document_id for h in result.hits))[:k])
        hits = tuple(h for h in result.hits if h.document.document_id in best)
        shown = replace(run, result=replace(result, hits=hits))
        assembled = await self._assembled(identity, shown, Wanted(None, per_document=most or None), None)
        more = Counter(left.document.document_id for left in assembled.left_out)
        documents = by_document(assembled.passages, more)
        ranks = {rank for document in documents for rank in document.hits}
        notes = result.notes
        if len(best) < k and len(result.hits) >= DEEPEST:
            notes = (*notes, f"the best {len(result.hits)} chunks are of {len(best)} documents")
        return replace(
            result, hits=tuple(h for h in hits if h.rank in ranks), documents=documents, notes=notes
        )

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
            notes=(*run.result.notes, *ahead_notes(run.result.hits, datetime.now(UTC).date())),
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
        rerank: str | None = None,
        *,
        every: bool = False,
        measuring: bool = False,
        ef_search: int | None = None,
        probes: int | None = None,
        oversampling: int | None = None,
    ) -> SearchRun:
        """`every`: `k` is no wish but all that the configured pools hold."""
        resolved, config = self._resolved(filters or Filters(), as_of), self.config.search
        if not every:
            config = config.reaching(k)
        embedder = None if mode == "lexical" else await self._open_embedder()
        space = None if mode == "lexical" else await self.space()
        async with self._database.transaction(identity, plan="once") as connection:
            size = await search_store.corpus_size(connection, space.space_id if space else None)
        spoken = await self._question_lang(size, question, lang)
        analyser = analyser_for(spoken.lang)
        request = SearchRequest(
            question=question,
            lang=spoken.lang,
            analyser=analyser,
            mode=mode,
            k=k,
            filters=resolved,
            fusion=fusion,
            exact=exact,
            explain=explain,
            as_of=as_of,
            few=few_rows(size.own, size.indexed, config.pool),
            own=size.own,
            indexed=size.indexed,
            abroad=size.is_abroad(spoken, analyser),
            told=spoken.told,
            index=size.index,
            ef_search=ef_search,
            probes=probes,
            oversampling=oversampling,
        )
        return await run_search(
            self._database,
            identity,
            embedder,
            space.space_id if space else None,
            config,
            request,
            await self._reranking(rerank, measuring=measuring),
            None if mode == "semantic" else await self._lexical_engine(identity),
        )

    def _resolved(self, filters: Filters, as_of: date | None = None) -> Filters:
        """With their expression read. `today` is the day that is searched."""
        return resolve(filters, self.config.filters.meta, as_of or datetime.now(UTC).date())

    async def _reranking(self, rerank: str | None, *, measuring: bool = False) -> Reranking | None:
        """The reranker of that name, or the configured one. Where quality is measured nobody waits, and a busy machine must not
        change the figures: `measuring` gives it more time. Raises ConfigError for one that cannot be had."""
        search, settings = self.config.search, self.config.rerank
        name = search.rerank if rerank is None else rerank
        if name == "none":
            return None
        embedder = await self._open_embedder() if name in READS_TOKENS else None
        async with self._opening:  # questions that come at once share one
            if name not in self._rerankers:
                self._rerankers[name] = await asyncio.to_thread(
                    open_reranker,
                    name,
                    settings.options.get(name, {}),
                    embedder=embedder,
                    chat=self._chat,
                )
        opened = self._rerankers[name]
        timeout = max(settings.timeout, PATIENCE) if measuring else settings.timeout
        return Reranking(name, opened.reranker, opened.weight, search.rerank_pool, timeout)

    async def _lexical_engine(self, identity: Identity) -> lexical_engines.Engine | None:
        """The engine that takes the place of the postings; None: they are the lexical arm. Asked once whether it can answer:
        raises ConfigError where it cannot, saying what is wrong."""
        name, timeout = self.config.search.lexical, self.config.search.lexical_timeout
        if (given := self._lexical_engines.get(GIVEN)) is not None:
            return lexical_engines.Engine(given, timeout)
        if name == "postings":
            return None
        async with self._opening:
            if name not in self._lexical_engines:
                self._lexical_engines[name] = await lexical_engines.open_extension(
                    self._database, identity, name, ANALYSERS
                )
        return lexical_engines.Engine(self._lexical_engines[name], timeout)

    async def _question_lang(self, size: search_store.CorpusSize, question: str, lang: str) -> Spoken:
        """The question's language: stated, or told by its function words, or the corpus's only one, or detected, or the corpus's
        most frequent one. A question may be in a language that no document is in."""
        if lang not in ("auto", "any"):
            return Spoken(lang, decided=lang != NO_LANGUAGE, told=True)
        detector = self._open_detector()
        if told := detector.told(question):
            return Spoken(told, decided=True, told=True)
        if len(size.analysers) <= 1:
            return Spoken(size.analysers[0] if size.analysers else "en", decided=False, told=False)
        found = await asyncio.to_thread(detector.detect, question)
        return Spoken(found or size.analysers[0], decided=found is not None, told=False)

    def _sample(self, identity: Identity, run: SearchRun) -> None:
        """Perhaps has the search measured, once its answer is complete. What was exact anyway has nothing to miss."""
        asked = run.request
        if run.result.config["lexical"]["engine"] is not None:  # what another engine misses, no postings tell
            if asked.mode == "lexical":
                return
            asked = replace(asked, mode="semantic")
        if self._live is not None and run.arms and not asked.exact and asked.as_of is None:
            self._live.offer(
                identity, _Sampled(asked, run.vector, self._space.space_id if self._space else None)
            )

    async def _keep_search(self, result: SearchResult, more: Mapping[str, Any] | None = None) -> None:
        record = {**search_record(result), **(more or {})}
        async with self._database.transaction(await self.identity(), plan="once") as connection:
            await traces.insert(
                connection, result.trace_id, "search", result.question, result.outcome, record
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
        check_count("revision", revision, optional=True)
        check_day("as_of", as_of)
        require_storable("document", external_id, source)
        async with self._database.transaction(await self.identity()) as connection:
            shown = await show_document(connection, external_id, source, revision, as_of)
        return await self._with_hidden_successor(shown)

    async def repeated(self, source: str, *, least: int = 2, top: int = 20) -> Repeated:
        """What at least `least` documents of a source say to the letter, the `top` texts of most documents, and how much of the
        source that is. Only what the caller may read and a search would look through counts."""
        check_count("least", least)
        check_count("top", top)
        identity = await self.identity()
        await self._check_source(identity, source)
        async with self._database.transaction(identity) as connection:
            return await ops_store.repeated_texts(connection, source, least, top)

    async def _with_hidden_successor(self, shown: Shown) -> Shown:
        """Names a successor that was deleted, to who could read it were it not: it hides this document all the same."""
        if shown.superseded_at is None or shown.superseded_by is not None:
            return shown
        # for readers too: only mode "write" sees deleted rows, and the statement asks for their labels
        reader = replace(await self.identity(), may_write=True)
        async with self._database.transaction(reader, "write") as connection:
            hidden = await lifecycle.hidden_successor(connection, shown.document_id)
        if hidden is None:
            return shown
        return replace(
            shown,
            superseded_by=hidden.external_id,
            successor_deleted_at=hidden.deleted_at,
            successor_erased_at=hidden.erased_at,
        )

    # --- answers

    async def ask(
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
        message of a route, before anything is searched. All four are values and leave a trace. With `as_of` it rests on the
        revisions that held on that day, and says which of them have changed since. With `budget` only as many hits are read as
        have that many tokens with their labels, the best first, by the embedder's tokenizer; `usage` says what was read."""
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta,
        )  # fmt: skip
        check_within("budget", budget, LEAST_BUDGET, MOST_BUDGET)
        lang = _question_lang(lang)
        identity, timer = await self.identity(), Timer()
        with timer.stage("route"):
            rule = route(question, None if lang in ("auto", "any") else lang)
        if rule is not None:
            answer = outcome.routed(question, rule, identity, timer.finish(), self.config.answer.threshold)
            await self._keep_answer(identity, answer, {})
            return answer
        with timer.stage("model"):
            await self._open_embedder()
        with timer.stage("search"):
            evidence = self.config.answer.evidence if k is None else k
            run = await self._search(
                identity, question, evidence, mode, lang, filters, fusion, exact, False, as_of, rerank
            )
        usage: Mapping[str, int] = {}
        if budget is not None:
            with timer.stage("assembly"):
                run, usage = await self._within(identity, run, budget)
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
        answer = replace(answer, usage={**answer.usage, **usage})
        await self._keep_answer(identity, answer, {"signals": draft.signals, **search_record(run.result)})
        self._sample(identity, run)
        return answer

    async def _within(
        self, identity: Identity, run: SearchRun, budget: int
    ) -> tuple[SearchRun, Mapping[str, int]]:
        """The search as if it had found what fits, and the figures of that."""
        assembled = await self._assembled(identity, run, Wanted(budget), await self._counter())
        hits = evidence_of(run.result.hits, assembled)
        notes = [*run.result.notes, *assembled.notes]
        if assembled.left_out:
            notes.append(
                f"{len(assembled.left_out)} of {len(run.result.hits)} hits did not fit the budget of {budget} tokens"
            )
        usage = {"budget": budget, "evidence_tokens": assembled.tokens, "evidence": len(hits)}
        return replace(run, result=replace(run.result, hits=hits, notes=tuple(notes))), usage

    async def _gather(self, identity: Identity, question: str, run: SearchRun) -> Evidence:
        """Judged by what the question asks for: a word that it excludes is not missed."""
        result, question = run.result, read_marks(question).text
        words = subject_words(spelled(question, result.lang), result.lang)
        revisions = {h.document.revision_id for h in result.hits if h.document.revision_id}
        async with self._database.transaction(identity, plan="once") as connection:
            weights, texts = await answer_store.read_evidence(
                connection, words, analyser_for(result.lang), sorted(revisions)
            )
        tops = {arm: tuple(c.chunk_id for c in candidates) for arm, candidates in run.arms.items()}
        return Evidence(
            question=question,
            lang=result.lang,
            space=(await self.space()).spec.name if run.arms.get("semantic") else "",
            hits=result.hits,
            texts={key: found.text for key, found in texts.items()},
            pages={key: found.page_starts for key, found in texts.items()},
            recognised={key: found.recognised for key, found in texts.items()},
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
        here._embedder = embedder
        embedder.elsewhere = partial(self._known_vectors, ordinary)
        await here._load_corpus(
            identity,
            of.dataset.corpus_path,
            lambda tally: loading(of.name, tally.seen, of.dataset.documents),
        )
        return identity, made

    async def _acting_in(self, slug: str) -> Identity:
        """The operator in another tenant, which must exist, with the configured roles."""
        self._require_operator()
        require_storable("tenant", slug)
        async with self._database.authentication() as connection:
            found = await identities.find_tenant(connection, slug)
        if found is None:
            raise UsageError(f"no tenant {slug!r}, or it is disabled", fix="see: veraz tenant list")
        return Identity(*found, tuple(self.config.roles), operator=True)

    async def _known_vectors(self, identity: Identity, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        space = await self.space()
        async with self._database.transaction(identity) as connection:
            return await ingest_store.known_vectors(connection, space.space_id, hashes)

    async def _check_source(self, identity: Identity, source: str) -> None:
        """A misspelt source would be measured as one that finds nothing."""
        async with self._database.transaction(identity) as connection:
            known = await ops_store.source_slugs(connection)
        if source not in known:
            raise UsageError(
                f"tenant {identity.tenant!r} has no source {source!r}",
                fix=f"known: {', '.join(known)}"
                if known
                else "ingest it first: veraz ingest PATH --source SLUG",
            )

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

    async def ensure_tenant(self, slug: str) -> Identity:
        """The tenant called `slug`, made when it does not exist, with the configured roles."""
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            await identities.add_tenant(connection, check_slug(slug))
        async with self._database.authentication() as connection:
            found = await identities.find_tenant(connection, slug)
        if found is None:
            raise AccessDenied(f"tenant {slug} is disabled", fix=f"veraz tenant enable {slug}")
        return Identity(*found, tuple(self.config.roles), operator=True)

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
                lang = _question_lang(request.lang)
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

    async def _keep_run(self, identity: Identity, report: EvalReport) -> None:
        async with self._database.transaction(identity, "write") as connection:
            await runs_store.insert(connection, report)

    # --- evaluation runs

    async def eval_runs(self, *, dataset: str | None = None, top: int = 20) -> tuple[RunSummary, ...]:
        """Stored runs that the caller may read, newest first, of all datasets or of one. An operator is shown those of the
        tenants that evaluations made for collections of their own, too."""
        check_count("top", top)
        require_storable("dataset", dataset)
        found: list[RunSummary] = []
        for identity in await self._run_readers():
            async with self._database.transaction(identity) as connection:
                found += await runs_store.recent(connection, identity.tenant, dataset, top)
        return tuple(sorted(found, key=lambda run: run.started_at, reverse=True)[:top])

    async def eval_run(self, name: str) -> StoredRun:
        """A run by its folder or per-query file, or by its id or a unique beginning of it. Files are the operator's: who
        presented a credential names ids alone. Raises UsageError where there is none that the caller may read, or where several
        ids begin so."""
        check_type("name", name, str)
        if (await self.identity()).operator and is_place(name):
            return await asyncio.to_thread(read_run, Path(name))
        found = []
        for identity in await self._run_readers():
            async with self._database.transaction(identity) as connection:
                one = await runs_store.find(connection, name, identity.tenant)
            found += [one] if one else []
        if len(found) > 1:
            raise UsageError(f"several runs begin with {name!r}", fix="give more characters of the id")
        if not found:
            raise UsageError(
                f"no run {name!r}: neither a folder or per-query file of that name, nor a stored run that you may read",
                fix="see: veraz eval runs, with the same --tenant and --roles",
            )
        return found[0]

    async def compare_runs(
        self, names: Sequence[str], *, measures: Sequence[str] = (), changed: int = 10
    ) -> tuple[RunComparison, ...]:
        """Each further run against the first, query by query, corrected for all comparisons. Names are as in `eval_run`. Raises
        UsageError, saying why, for runs that cannot be compared."""
        check_names("names", names)
        check_names("measures", measures)
        check_count("changed", changed)
        stored = [await self.eval_run(name) for name in names]
        return await asyncio.to_thread(partial(compare_runs, stored, measures=measures, changed=changed))

    async def _run_readers(self) -> list[Identity]:
        """Who reads runs where: the caller in its tenant, and an operator with its roles in those that evaluations made."""
        identity = await self.identity()
        if not identity.operator:
            return [identity]
        try:
            async with self._database.maintenance() as connection:
                others = await runs_store.evaluated_tenants(connection)
        except DatabaseError:  # the runtime login: its own tenant is all that it may read
            others = {}
        return [
            identity,
            *(
                replace(identity, tenant_id=tenant_id, tenant=slug)
                for tenant_id, slug in others.items()
                if tenant_id != identity.tenant_id
            ),
        ]

    # --- diagnosis

    async def diagnose(
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
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta,
        )  # fmt: skip
        check_choice("verb", verb, VERBS)
        for name, value in (("expect", expect), ("source", source), ("fact", fact)):
            check_type(name, value, str, optional=name != "expect")
        identity = await self.identity()
        resolved = self._resolved(filters, as_of)
        asked = Asked(
            question, k, mode, _question_lang(lang), resolved, fusion, exact, as_of, verb, rerank=rerank
        )
        around = await self._surroundings(identity)
        return await follow(around, Expected(expect, source, fact), Trial(asked, self.config))

    async def diagnose_suite(
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
        check_choice("mode", mode, MODES)
        check_count("k", k)
        check_count("most", most)
        if folder is None and run is None:
            raise UsageError(
                "nothing says what was expected",
                fix="give a judged folder, or a run that `veraz eval run --out` wrote",
            )
        results = await asyncio.to_thread(read_results, run) if run is not None else ()
        dataset = await asyncio.to_thread(load_dataset, folder, qrels=qrels) if folder is not None else None
        identity = await self.identity()
        if dataset is not None and dataset.corpus_path is not None and source is None:
            identity = await self._evaluation_tenant(dataset, ingest_progress)
        if source is not None:
            await self._check_source(identity, source)
        suite = JudgedRun.of(dataset, results, k) if dataset is not None else JudgedRun.of_run(results, k)
        around = await self._surroundings(identity)
        trial = partial(
            self._suite_trial, identity, dataset, suite, k=k, mode=mode, source=source, where=where
        )
        missed = await self._missed(around, suite, trial, k, progress)
        failures = []
        followed = spread(missed, most)
        for done, (query_id, name, grade) in enumerate(followed, 1):
            diagnosis = await follow(around, Expected(name, source), trial(query_id))
            failures.append(Missed(query_id, grade, diagnosis))
            if progress is not None:
                progress(done, len(followed))
        return summarised(suite, failures, k=k, mode=mode, missed=len(missed))

    async def _missed(
        self,
        around: Surroundings,
        suite: JudgedRun,
        trial: Callable[[str], Trial],
        k: int,
        progress: Callable[[int, int], None] | None,
    ) -> list[tuple[str, str, int]]:
        """Query, document and grade of what is not among the first k: as the stored run says, else by searching."""
        missed: list[tuple[str, str, int]] = []
        for done, (query_id, grades) in enumerate(suite.wanted.items(), 1):
            if suite.found is not None:
                found = suite.found.get(query_id, frozenset())
            else:
                groups = (await around.look(trial(query_id))).groups[:k]
                found = frozenset(name for group in groups for name in group.names)
            missed += [(query_id, name, grade) for name, grade in grades.items() if name not in found]
            if progress is not None:
                progress(done, len(suite.wanted))
        return missed

    def _suite_trial(
        self,
        identity: Identity,
        dataset: Dataset | None,
        suite: JudgedRun,
        query_id: str,
        *,
        k: int,
        mode: Mode,
        source: str | None,
        where: str | None,
    ) -> Trial:
        """A judged question as its suite says that it is asked; a folder that says nothing has it asked as it stands."""
        filters = Filters(sources=(source,) if source else None, where=where)
        question = clean_question(suite.texts[query_id])
        asked = Asked(question, k=k, mode=mode, filters=self._resolved(filters), verb="search")
        request = getattr(dataset, "requests", {}).get(query_id)
        if request is not None:
            own = replace(
                request.filters,
                sources=filters.sources or request.filters.sources,
                where=both(request.filters.where, where),
            )
            roles = request.roles if identity.operator else None  # no file gives a credential other roles
            resolved = self._resolved(own, request.as_of)
            asked = replace(asked, lang=request.lang, filters=resolved, as_of=request.as_of, roles=roles)
        return Trial(asked, self.config)

    async def _surroundings(self, identity: Identity) -> Surroundings:
        """With an embedder that remembers the question: it is searched again for each change that is tried."""
        other = copy(self)
        other._embedder = QuestionMemory(await self._open_embedder())
        space = await self.space()
        other._space = space
        return Surroundings(
            self._database,
            identity,
            space.space_id,
            space.spec.name,
            knows_all=identity.operator,
            route=_rule_of,
            look=partial(other._look, identity),
            answer=partial(other._try_answer, identity),
        )

    async def _run_trial(
        self, identity: Identity, trial: Trial, k: int
    ) -> tuple[AsyncVeraz, Identity, SearchRun]:
        """Searches as another request or configuration would; no trace is kept."""
        asked, other = trial.asked, copy(self)
        other.config = trial.config
        acting = identity if asked.roles is None else replace(identity, roles=asked.roles)
        run = await other._search(
            acting, asked.question, k, asked.mode, asked.lang, asked.filters, asked.fusion, asked.exact, False, asked.as_of,
            asked.rerank,
        )  # fmt: skip
        return other, acting, run

    async def _look(self, identity: Identity, trial: Trial) -> Looked:
        _, acting, run = await self._run_trial(identity, trial, trial.limit)
        groups = await every_group(self._database, acting, run)
        analyser = analyser_for(run.result.lang)
        postings = 0
        if "lexical" in run.arms and trial.asked.as_of is None:
            words = search_store.LexicalQuestion(trial.asked.question, analyser, 1, 1, 1)
            async with self._database.transaction(acting) as connection:
                _, postings = await search_store.posting_count(connection, words)
        return Looked(
            lang=run.result.lang,
            analyser=analyser,
            groups=tuple(_in_order(groups, run.reranked)),
            arms={arm: tuple((c.chunk_id, c.score) for c in found) for arm, found in run.arms.items()},
            exact=run.exact,
            pool=run.result.config["pool"],
            postings=postings,
            reranker=run.result.config["rerank"]["name"]
            if run.reranked is not None and run.reranked.fallback is None
            else None,
        )

    async def _try_answer(self, identity: Identity, trial: Trial) -> Answered:
        evidence = trial.config.answer.evidence if trial.asked.k is None else trial.asked.k
        other, acting, run = await self._run_trial(identity, trial, evidence)
        gathered = await other._gather(acting, trial.asked.question, run)
        lacking = assess(gathered).lacking
        settings = trial.config.answer
        draft = await compose(gathered, await other._open_embedder(), settings, settings.threshold)
        return Answered(
            outcome=draft.outcome,
            probability=draft.sufficiency,
            lacking=lacking.kind if lacking else None,
            missing=lacking.missing if lacking else (),
            cited=tuple(Cited(c.source, c.external_id, c.revision, c.start, c.end) for c in draft.citations),
            dropped=tuple((d.text, d.why) for d in draft.dropped),
            reason=draft.reason,
        )

    # --- how good the indexes are: the operator's

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

    # --- explanation

    async def trace(self, trace_id: str) -> Trace:
        """A stored trace by its id, or a unique beginning of it."""
        async with self._database.transaction(await self.identity()) as connection:
            return await traces.find(connection, trace_id)

    async def explain_trace(self, trace_id: str) -> Mapping[str, Any]:
        """The stored trace with the live text of what it cites, under the caller's own rights; or that it is gone."""
        identity = await self.identity()
        async with self._database.transaction(identity) as connection:
            found = await traces.find(connection, trace_id)
            live = await traces.live_quotes(connection, found)
        return explained(found, live, identity.tenant)

    # --- looking after it

    async def status(self) -> Status:
        """Of the whole database, all tenants together: the operator's."""
        self._require_operator()
        replayed = await self._is_replayed()
        async with self._database.maintenance() as connection:
            counted = await ops_store.counts(connection)
            spaces = await ops_store.spaces(connection)
            indexed = await ops_store.space_indexes(connection)
            lexical = await ops_store.lexical_state(connection)
            health = await self._health(connection, lexical, indexed, replayed=replayed)
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
                    "distance": s.spec.distance,
                    "active": s.is_active,
                    "index": i,
                }
                for s, i in zip(spaces, indexed, strict=True)
            ),
            counts=counted,
            lexical=lexical,
            health=(*health, *await self._health_of_engine()),
        )

    async def _health_of_engine(self) -> tuple[Check, ...]:
        """Whether the extension that `[search] lexical` names can answer for this tenant."""
        name = self.config.search.lexical
        if name == "postings":
            return ()
        try:
            version = await lexical_engines.examine(self._database, await self.identity(), name, ANALYSERS)
        except VerazError as error:
            return (Check("lexical engine", False, error.what, error.fix),)
        return (Check("lexical engine", True, f"{name} {version} answers", None),)

    async def _health(
        self,
        connection: Connection,
        lexical: Sequence[LexicalState],
        spaces: Sequence[SpaceIndexed],
        *,
        replayed: bool,
    ) -> tuple[Check, ...]:
        broken = await ops_store.invalid_indexes(connection)
        dead = await ops_store.dead_rows(connection)
        extensions = (await read_capabilities(connection)).extensions
        missing = [e.name for e in extensions if e.installed is None]
        return checks(broken, lexical, dead, replayed=replayed, missing=missing, spaces=spaces)

    async def space(self) -> ops_store.Space:
        """The active embedding space. Raises ConfigError when the configured model or distance is another one: vectors of two
        models are never compared, and those of one never otherwise than they were indexed."""
        if self._space is None:
            await self._installed()
            async with self._database.authentication() as connection:
                active = next((s for s in await ops_store.spaces(connection) if s.is_active), None)
            if active is None:
                raise DatabaseError("no embedding space is active", fix="veraz init")
            configured = (await self._open_embedder()).space
            if configured != active.spec:
                raise another_space(active.spec, configured)
            self._space = active
        return self._space

    async def _open_embedder(self) -> Embedder:
        async with self._opening:  # a model that several want at once is read once
            if self._embedder is None:
                settings = self.config.embedder
                self._embedder = await asyncio.to_thread(
                    open_embedder,
                    settings.name,
                    cache=self.config.model_cache,
                    distance=settings.distance,
                    options=settings.options,
                    progress=self._model_progress,
                )
            return self._embedder

    def _chunking(self) -> Chunking:
        settings = self.config.ingest
        return Chunking(settings.chunker, settings.chunk_tokens, settings.header, settings.title_weight)

    def _context_rules(self, stated: str | None) -> ContextRules:
        """As stated, or as configured. Raises UsageError for an unknown name and for a model that is not configured."""
        settings = self.config.ingest
        chosen = settings.context if stated is None else stated
        check_choice("context", chosen, CONTEXTS)
        if chosen == "none":
            return ContextRules()
        if self._chat is None:
            raise ConfigError(
                "contexts are to be written, and no chat model is configured",
                fix="set url and model of [chat]",
            )
        return ContextRules(
            ChatContext(self._chat, tokens=settings.context_tokens, window=settings.context_window),
            tokens=settings.context_tokens,
            required=settings.context_failure == "refuse",
            side_by_side=self.config.chat.concurrency,
        )

    def _open_detector(self) -> LanguageDetector:
        if self._detector is None:
            self._detector = LocalDetector()
        return self._detector


VERBS = ("search", "ask")
PATIENCE = 600.0
"""Seconds that a reranker has for one question of an evaluation or a sweep."""


class QuestionMemory:
    """An embedder that keeps the vectors of questions: the same one is asked again and again."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, EmbeddingBatch] = {}
        self.space = embedder.space

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        if kind != "query" or len(texts) != 1:
            return await self._embedder.embed(texts, kind)
        if texts[0] not in self._known:
            self._known[texts[0]] = await self._embedder.embed(texts, kind)
        return self._known[texts[0]]

    @property
    def gives_tokens(self) -> bool:
        return isinstance(self._embedder, TokenEncoder) and self._embedder.gives_tokens

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:
        assert isinstance(self._embedder, TokenEncoder)
        return await self._embedder.encode_tokens(texts, kind)


async def _deep_enough(ask: Callable[[int], Awaitable[SearchRun]], documents: int) -> SearchRun:
    """A search so deep that its hits are of that many documents, if so many match: how deep that is, nobody knows before."""
    depth = min(max(documents, DEEPEST), 3 * documents)
    while True:
        run = await ask(depth)
        hits = run.result.hits
        if len(hits) < depth or depth >= max(documents, DEEPEST):
            return run
        if len({hit.document.document_id for hit in hits}) >= documents:
            return run
        depth = min(max(documents, DEEPEST), 4 * depth)


def _context(
    result: SearchResult, wanted: Wanted, assembled: Assembled, timer: Timer, *, traced: bool
) -> Context:
    timings = dict(result.timings_ms)
    total = timings.pop("total", 0.0) + timer.stages["assembly"]
    assert wanted.budget is not None
    return Context(
        trace_id=result.trace_id if traced else None,
        question=result.question,
        lang=result.lang,
        mode=result.mode,
        as_of=result.as_of,
        budget=wanted.budget,
        tokens=assembled.tokens,
        sufficiency=result.sufficiency,
        threshold=result.threshold,
        passages=assembled.passages,
        left_out=assembled.left_out,
        notes=(*result.notes, *assembled.notes),
        timings_ms={**timings, **timer.stages, "total": round(total, 3)},
        text=rendered(assembled.passages),
    )


def _context_record(found: Context, wanted: Wanted) -> dict[str, Any]:
    """Ids, offsets and settings; no text."""
    passages = [
        {
            "n": passage.n,
            "revision_id": passage.document.revision_id,
            "spans": passage.spans,
            "chunks": [chunk.chunk_id for chunk in passage.chunks],
            "truncated": passage.truncated,
        }
        for passage in found.passages
    ]
    left = [{"rank": one.rank, "why": one.why} for one in found.left_out]
    return {**asdict(wanted), "tokens": found.tokens, "passages": passages, "left_out": left}


def _rule_of(question: str, lang: str) -> str | None:
    rule = route(question, None if lang in ("auto", "any") else lang)
    return rule.rule if rule else None


def _in_order(groups: Sequence[tuple[Fused, Sequence[Hit]]], reranked: RerankRun | None) -> Iterator[Group]:
    """All groups in the order that search shows: those that it read as the reranker has them, the others behind."""
    order = [(entry.position, entry.score) for entry in reranked.order] if reranked is not None else []
    order += [(place, fused.score) for place, (fused, _) in enumerate(groups) if place >= len(order)]
    for rank, (place, score) in enumerate(order, 1):
        yield _group(rank, place + 1, score, groups[place][1])


def _group(rank: int, fused_rank: int, score: float, hits: Sequence[Hit]) -> Group:
    return Group(
        rank=rank,
        fused_rank=fused_rank,
        score=score,
        chunks=tuple(h.chunk_id for h in hits),
        documents=tuple(h.document.document_id for h in hits if h.document.document_id),
        names=tuple(h.document.external_id for h in hits),
        sources=tuple(h.document.source for h in hits),
    )


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


def _prune(paths: Sequence[str], exclude: Sequence[str], confirmed: bool) -> Prune:
    if "-" in paths:
        raise UsageError(
            "standard input and prune", fix="give paths: what is gone cannot be told from one document"
        )
    items = discovery.discover(paths, exclude=exclude, names_only=True)
    return Prune(list_items(items), confirmed)


def _parsers(config: Config) -> DocumentParser:
    """Shared by all that act on one open engine, and closed with it. No process is started before a document is parsed."""
    settings = config.ingest
    limits = Limits(settings.parse_seconds, settings.parse_memory_mb << 20)
    if not settings.isolated:
        return ParsersHere(ocr=settings.ocr)
    return ParserPool(settings.workers, limits, ocr=settings.ocr)


@dataclass(frozen=True, slots=True)
class _Sampled:
    """What a search is asked again with: nothing is embedded twice."""

    request: SearchRequest
    vector: Vectors | None
    space_id: int | None


def _live(config: Config, database: Database, *, embedded: bool) -> Sampler[_Sampled] | None:
    """Shared by all that act on one open engine, and closed with it. None where no search is sampled."""
    settings = config.observability
    if not settings.recall_sample:
        return None

    async def compare(connection: Connection, asked: _Sampled) -> Mapping[str, Compared]:
        request, space_id = asked.request, asked.space_id
        arms = await ask_again(connection, request, asked.vector, space_id, config.search)
        return {
            arm: Compared(
                scored(again.candidates),
                None if again.exact is None else scored(again.exact),
                again.exact_ms,
                space_id if arm == "semantic" else None,
                request.filters != Filters(),
            )
            for arm, again in arms.items()
        }

    prepare = config.database.prepare
    return Sampler(
        share=settings.recall_sample,
        k=settings.recall_k,
        waiting=settings.recall_waiting,
        database=database,
        connect=partial(Database.open, database.url, max_size=1, prepare=prepare, embedded=embedded),
        compare=compare,
    )


def _chat(config: Config) -> ChatModel | None:
    """The configured model, shared and closed like the parsers. Nothing is sent before somebody asks."""
    if not config.chat.url:
        return None
    from veraz.providers.chat.openai_compatible import ChatOptions, OpenAICompatibleChat

    return OpenAICompatibleChat(msgspec.convert(msgspec.to_builtins(config.chat), ChatOptions))


def _document_lang(lang: str | None) -> str | None:
    code = check_lang("auto" if lang is None else lang, ("auto",), ANALYSERS)
    return {"auto": None, NO_LANGUAGE: UNDETERMINED}.get(code, code)


def _question_lang(lang: str) -> str:
    return check_lang(lang, ("auto", "any"), ANALYSERS)


def _listed(paths: AnyPath | Sequence[AnyPath]) -> list[str]:
    return [os.fspath(p) for p in ((paths,) if isinstance(paths, str | os.PathLike) else paths)]
