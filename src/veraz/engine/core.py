"""Opens a database and its models, and knows who acts on it: what every other part of the engine stands on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from copy import copy
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from veraz.config import Config, load
from veraz.db.embedded import EmbeddedServer
from veraz.db.rights import read_rights, require_unprivileged
from veraz.db.session import RUNTIME_ROLE, Connection, Database, login_url, redact, require_writer
from veraz.errors import AccessDenied, DatabaseError, UsageError
from veraz.identity import store as identities
from veraz.identity.pipeline import identify_key, identify_token
from veraz.identity.roles import check_slug
from veraz.ingest.plan import ANALYSERS
from veraz.nouns.corpus import Identity, Vectors
from veraz.nouns.question import Filters
from veraz.nouns.status import Initialised
from veraz.ops import store as ops_store
from veraz.ops.measure.live import Compared, Sampler
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.jwks import Jwks
from veraz.providers.langid import LocalDetector
from veraz.providers.parsers.pool import ParserPool, ParsersHere
from veraz.providers.parsers.worker import Limits
from veraz.providers.ports import ChatModel, DocumentParser, Embedder, KeySet, LanguageDetector, LexicalEngine
from veraz.providers.rerankers.registry import OpenedReranker
from veraz.schema.apply import (
    Applied,
    another_space,
    apply_schema,
    ensure_space,
    installed_version,
    latest_version,
    lock_installation,
    renew_runtime_password,
    replay_digest,
)
from veraz.search.engines import pipeline as lexical_engines
from veraz.search.measured import scored
from veraz.search.pipeline import ask_again
from veraz.search.request import SearchRequest
from veraz.text.decode import require_storable

Report = Callable[[str], None]
"""Called with one line when something slow begins: a server starts, a model is prepared."""
ModelProgress = Callable[[str, int, int], None]
"""Called with the stage, what is done and the total while the embedding model is prepared."""
Result = TypeVar("Result")
INIT = "veraz init --database URL (as an administrator)"
GIVEN = "given"
"""Among the lexical engines: the one that the caller brought."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a search is asked again with: nothing is embedded twice."""

    request: SearchRequest
    vector: Vectors | None
    space_id: int | None


@dataclass(slots=True)
class Models:
    """What is opened once, by whoever needs it first, and shared by all that act on one open engine."""

    embedder: Embedder | None = None
    detector: LanguageDetector | None = None
    space: ops_store.Space | None = None


class Core:
    """An open database, the models that are open beside it, and the identity that acts."""

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
        self._models = Models(embedder)
        self._rerankers: dict[str, OpenedReranker] = {}
        self._lexical_engines: dict[str, LexicalEngine] = (
            {GIVEN: lexical_engine} if lexical_engine is not None else {}
        )
        self._opening = asyncio.Lock()
        self._parsers = _parsers(config)
        self._chat = _chat(config)
        self._live = _live(config, database, embedded=embedded)
        self._jwks: KeySet | None = None
        self._identity: Identity | None = None
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
    ) -> Self:
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
        """Ends what runs and closes what is open. Where one of these fails the others are closed all the same, and the error is
        raised afterwards. Safe to repeat."""
        async with AsyncExitStack() as closing:  # the last that is pushed is closed first
            closing.push_async_callback(self._database.close)
            if self._chat is not None:
                closing.push_async_callback(self._chat.close)
            for engine in self._lexical_engines.values():
                closing.push_async_callback(engine.close)
            for opened in self._rerankers.values():
                closing.push_async_callback(opened.reranker.close)
            closing.push_async_callback(self._parsers.close)
            if self._live is not None:
                closing.push_async_callback(self._live.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

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

    def acting_as(self, identity: Identity) -> Self:
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

    async def _changing(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """One write transaction of the runtime role, run again after a deadlock."""
        identity = await self._writer()

        async def once() -> Result:
            async with self._database.transaction(identity, "write") as connection:
                return await work(connection)

        return await self._database.again(once)

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

    async def _acting_in(self, slug: str) -> Identity:
        """The operator in another tenant, which must exist, with the configured roles."""
        self._require_operator()
        require_storable("tenant", slug)
        async with self._database.authentication() as connection:
            found = await identities.find_tenant(connection, slug)
        if found is None:
            raise UsageError(f"no tenant {slug!r}, or it is disabled", fix="see: veraz tenant list")
        return Identity(*found, tuple(self.config.roles), operator=True)

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

    async def space(self) -> ops_store.Space:
        """The active embedding space. Raises ConfigError when the configured model or distance is another one: vectors of two
        models are never compared, and those of one never otherwise than they were indexed."""
        if self._models.space is None:
            await self._installed()
            async with self._database.authentication() as connection:
                active = next((s for s in await ops_store.spaces(connection) if s.is_active), None)
            if active is None:
                raise DatabaseError("no embedding space is active", fix="veraz init")
            configured = (await self._open_embedder()).space
            if configured != active.spec:
                raise another_space(active.spec, configured)
            self._models.space = active
        return self._models.space

    async def _open_embedder(self) -> Embedder:
        async with self._opening:  # a model that several want at once is read once
            if self._models.embedder is None:
                settings = self.config.embedder
                self._models.embedder = await asyncio.to_thread(
                    open_embedder,
                    settings.name,
                    cache=self.config.model_cache,
                    distance=settings.distance,
                    options=settings.options,
                    progress=self._model_progress,
                )
            return self._models.embedder

    def _open_detector(self) -> LanguageDetector:
        if self._models.detector is None:
            self._models.detector = LocalDetector()
        return self._models.detector


def _parsers(config: Config) -> DocumentParser:
    """Shared by all that act on one open engine, and closed with it. No process is started before a document is parsed."""
    settings = config.ingest
    limits = Limits(settings.parse_seconds, settings.parse_memory_mb << 20)
    if not settings.isolated:
        return ParsersHere(ocr=settings.ocr)
    return ParserPool(settings.workers, limits, ocr=settings.ocr)


def _live(config: Config, database: Database, *, embedded: bool) -> Sampler[Sampled] | None:
    """Shared by all that act on one open engine, and closed with it. None where no search is sampled."""
    settings = config.observability
    if not settings.recall_sample:
        return None

    async def compare(connection: Connection, asked: Sampled) -> Mapping[str, Compared]:
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
