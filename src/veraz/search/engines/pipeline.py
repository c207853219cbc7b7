"""Asks another engine, deeper until enough of what it gave may be read. No transaction is open meanwhile: it may be elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from veraz.db.session import Database
from veraz.errors import ConfigError, VerazError
from veraz.nouns.corpus import Identity
from veraz.nouns.lexical import EngineCandidates, EngineQuestion, ExtensionName
from veraz.providers.ports import LexicalEngine
from veraz.search.engines import store
from veraz.search.engines.rules import Given, deeper, ordered

MOST_DEPTH = 20_000
"""Candidates that an engine is asked for at most: deeper than that, the postings are the cheaper way."""
WRITTEN_FOR = {"pg_textsearch": "1.5", "pg_search": "0.27"}
"""The releases whose documentation the statements were written for."""
OLDEST = {"pg_textsearch": (1, 0), "pg_search": (0, 25)}
"""pg_textsearch calls itself fit for production from 1.0; pg_search has `using paradedb` from 0.25."""

Permitted = Callable[[Given], Awaitable[tuple[int, int]]]
"""Of an engine's candidates: how many are there at all, and how many of those may answer."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine as search uses it: `timeout` seconds for one question, all times it is asked deeper included."""

    engine: LexicalEngine
    timeout: float


@dataclass(frozen=True, slots=True)
class Consulted:
    """What came of asking. `given`: its candidates, not yet permitted; None: the postings answer. `record` is for the trace. It
    says nothing of how much was dropped: that would tell of what may not be read."""

    given: Given | None
    record: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def spared(using: Engine, why: str) -> Consulted:
    """An engine that was not asked, because what is asked is not its to answer."""
    return Consulted(None, _record(using, "not asked", why))


async def consult(using: Engine, question: EngineQuestion, enough: int, permitted: Permitted) -> Consulted:
    """`question` with the depth to begin with; `enough` permitted candidates end it, as do an engine that has no more,
    MOST_DEPTH, and an engine that gives no more for being asked deeper. Never raises what the engine raises."""
    given: Given = ()
    try:
        async with asyncio.timeout(using.timeout):
            while True:
                found = await using.engine.best(question)
                taken = ordered(found, question.depth)
                if isinstance(taken, str):
                    return _failed(using, taken)
                known, allowed = await permitted(taken)
                if known < len(taken):
                    return _failed(using, "chunks that are not there")
                more = len(taken) > len(given)
                given = taken if more else given
                depth = deeper(question.depth, MOST_DEPTH)
                if allowed >= enough or found.exhausted or not more or depth is None:
                    return Consulted(given, _record(using, "answered"))
                question = replace(question, depth=depth)
    except TimeoutError:
        return _failed(using, f"no answer within {using.timeout:g} s")
    except VerazError as error:
        return _failed(using, error.what, error.fix)
    except Exception as error:  # whatever an engine of others raises; its words may hold an address, or a key
        return _failed(using, type(error).__name__)


def _failed(using: Engine, why: str, fix: str | None = None) -> Consulted:
    note = f"the lexical engine {using.engine.name} was of no use ({why}); the postings answered"
    note += f" (fix: {fix})" if fix else ""
    return Consulted(None, _record(using, "failed", why), (note,))


def _record(using: Engine, outcome: str, why: str | None = None) -> dict[str, Any]:
    return {"name": using.engine.name, "version": using.engine.version, "outcome": outcome, "reason": why}


class ExtensionEngine:
    """The index of pg_textsearch or pg_search over the chunks of this database, asked as the runtime role. `languages`: those
    that have an analyser of their own."""

    def __init__(
        self, database: Database, name: ExtensionName, languages: tuple[str, ...], extension: store.Extension
    ) -> None:
        self._database = database
        self._name = name
        self._languages = languages
        self._extension = extension

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        return self._extension.installed or ""

    async def best(self, question: EngineQuestion) -> EngineCandidates:
        """Raises ConfigError where the tenant has no index, VerazError for what the server says."""
        try:
            async with self._database.transaction(question.identity) as connection:
                built = await store.indexes(connection, self._name, question.identity.tenant_id)
                if missing := [analyser for analyser, is_built in built.items() if not is_built]:
                    raise no_index(self._name, question.identity, missing)
                ask = _BEST[self._name]
                rows = await ask(connection, question, list(built), self._languages, self._extension)
        except psycopg.Error as error:
            # Not its words: a reader is told, and they could quote what the reader may not see.
            raise ConfigError(
                f"its statement failed: {type(error).__name__}", fix=f"veraz status, and {_fix(self._name)}"
            ) from error
        exhausted = len(rows) < question.depth
        return EngineCandidates(tuple(r for r in rows if r[1] > 0), exhausted or any(r[1] <= 0 for r in rows))

    async def close(self) -> None:
        """Nothing is kept open: the connections are the engine's of this process."""


_BEST: Mapping[ExtensionName, store.Best] = {
    "pg_textsearch": store.best_of_pg_textsearch,
    "pg_search": store.best_of_pg_search,
}


async def open_extension(
    database: Database, identity: Identity, name: ExtensionName, languages: tuple[str, ...]
) -> ExtensionEngine:
    """The engine, once it is sure that it can be asked: the extension is installed, is not too old, and, where the tenant has its
    index, answers a question. Raises ConfigError that says which of these it is and what the server said."""
    async with database.transaction(identity) as connection:
        extension = await store.extension(connection, name)
    require(name, extension)
    await _probe(database, identity, name, languages, extension)
    return ExtensionEngine(database, name, languages, extension)


async def examine(
    database: Database, identity: Identity, name: ExtensionName, languages: tuple[str, ...]
) -> str:
    """The version that answers. Raises ConfigError where `open_extension` does, and where the tenant lacks an index."""
    engine = await open_extension(database, identity, name, languages)
    async with database.transaction(identity) as connection:
        built = await store.indexes(connection, name, identity.tenant_id)
    if missing := [analyser for analyser, is_built in built.items() if not is_built]:
        raise no_index(name, identity, missing)
    return engine.version


def require(name: ExtensionName, extension: store.Extension) -> None:
    """Raises ConfigError for an extension that is not installed, or is too old."""
    if extension.installed is None:
        how = f"create extension {name}"
        there = how if extension.available else f"install it on the server, then: {how}"
        raise ConfigError(
            f"[search] lexical is {name}, and this database does not have that extension",
            fix=f"{there}; or leave lexical at postings, which needs no extension",
        )
    if _numbers(extension.installed) < OLDEST[name]:
        oldest = ".".join(map(str, OLDEST[name]))
        raise ConfigError(
            f"{name} {extension.installed} is too old; Veraz asks for {oldest} or newer",
            fix=f"upgrade the package on the server, then: alter extension {name} update",
        )


async def _probe(
    database: Database,
    identity: Identity,
    name: ExtensionName,
    languages: tuple[str, ...],
    extension: store.Extension,
) -> None:
    """Asks once what every search asks. Raises ConfigError with the server's own words where its SQL is another."""
    try:
        async with database.transaction(identity) as connection:
            built = await store.indexes(connection, name, identity.tenant_id)
            if not built or not all(built.values()):
                return  # nothing to ask; each search says so
            question = EngineQuestion(identity, "probe", "en", 1)
            await _BEST[name](connection, question, list(built), languages, extension)
    except psycopg.Error as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(
            f"{name} {extension.installed} does not take what Veraz asks, which was written for"
            f" {WRITTEN_FOR[name]}: {said}",
            fix=f"{_fix(name)}; or leave lexical at postings",
        ) from error


def no_index(name: ExtensionName, identity: Identity, missing: list[str]) -> ConfigError:
    return ConfigError(
        f"tenant {identity.tenant} has no index of {name} for {', '.join(missing)}", fix=_fix(name)
    )


def _fix(name: str) -> str:
    return f"veraz index lexical {name}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
