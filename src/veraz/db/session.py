"""The only opener of transactions. It says who acts: role, tenant, access labels and mode, for that transaction alone."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.types.array import ListDumper
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from veraz.db.capabilities import Capabilities, read_capabilities, require
from veraz.db.statements import statement
from veraz.errors import AccessDenied, ConfigError, DatabaseError
from veraz.nouns.corpus import Identity

RUNTIME_ROLE = "veraz_app"
OPS_ROLE = "veraz_ops"
SERVER_IS_WELL = ("40", "54")
"""SQLSTATE classes that say nothing against the server: deadlocks and serialization failures (the transaction may be run
again), and program limits (a value too large for an index)."""
TENANT_DISABLED = "VZ001"
"""What the database raises as a transaction begins in a tenant that is disabled or gone."""
Connection = AsyncConnection[Any]
Prepare = Literal["auto", "on", "off"]
"""Whether statements are prepared on the server: auto asks each connection whether a pooler stands in between."""
Plan = Literal["each", "once"]
"""Whether a reader's statement is planned each time, with its values, or once for a connection."""
_PLANS: dict[Plan, str] = {"each": "force_custom_plan", "once": "force_generic_plan"}
Begin = Callable[[AsyncExitStack, Connection], Awaitable[None]]
Act = Callable[[Connection, dict[str, str]], Awaitable[None]]
Result = TypeVar("Result")
EMBEDDED_PATIENCE = 2.0
"""Seconds to wait for a free connection before asking whether the embedded server is still there."""
ATTEMPTS = 10
"""How often a transaction is run that the server gave up in favour of another one."""


class Database:
    """A pool of connections to one database. Open with `Database.open(url)`, close with `close()`."""

    def __init__(
        self, pool: AsyncConnectionPool[Connection], capabilities: Capabilities, url: str, *, embedded: bool
    ) -> None:
        self._pool = pool
        self.capabilities = capabilities
        self.url = url
        self._embedded = embedded
        self.collisions = 0
        """Transactions that the server gave up for another one's sake, and that were run again."""
        self._search_path = ", ".join([*_quoted(["veraz", *capabilities.extension_schemas]), "pg_temp"])

    @classmethod
    async def open(
        cls, url: str, *, max_size: int = 4, prepare: Prepare = "auto", embedded: bool = False
    ) -> Database:
        """Connects and reads the capabilities. Raises ConfigError for what is no connection string, DatabaseError when the server
        cannot be reached or cannot serve."""
        check_url(url)
        await _probe(url, embedded=embedded)
        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=max_size,
            open=False,
            timeout=30,
            kwargs={"autocommit": True},
            configure=_preparing[prepare],
            name="veraz",
        )
        try:
            await pool.open(wait=True, timeout=15)
            async with pool.connection() as connection:
                capabilities = await read_capabilities(connection)
            require(capabilities)
        except BaseException as error:
            await pool.close()
            if isinstance(error, (PoolTimeout, psycopg.Error)):
                raise unreachable(url, error, embedded=embedded) from error
            raise
        return cls(pool, capabilities, url, embedded=embedded)

    async def close(self) -> None:
        await self._pool.close()

    async def refresh_capabilities(self) -> None:
        async with self._pool.connection() as connection:
            self.capabilities = await read_capabilities(connection)
        self._search_path = ", ".join([*_quoted(["veraz", *self.capabilities.extension_schemas]), "pg_temp"])

    async def again(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """What `work` returns, run again where the server ended its transaction in a deadlock or for want of an order. `work`
        opens the transaction, and leaves nothing behind when it fails. Raises DatabaseError when that never ends."""
        for attempt in range(ATTEMPTS):
            try:
                return await work()
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
                self.collisions += 1
                last = error
            await asyncio.sleep(random.uniform(0, min(1.0, 0.01 * 2**attempt)))
        raise DatabaseError(
            f"other writers got in the way {ATTEMPTS} times: {str(last).splitlines()[0]}",
            fix="run the command again when less is written",
        ) from last

    @asynccontextmanager
    async def transaction(
        self, identity: Identity, mode: Literal["read", "write"] = "read", *, plan: Plan = "each"
    ) -> AsyncIterator[Connection]:
        """A transaction of the runtime role for one tenant. In mode "write" every label of the tenant is visible; in mode "read"
        all statements see one snapshot, so that arms and hits never mix two revisions of a document. `plan="once"` is for a
        reader whose statements look rows up by key. Raises AccessDenied for a credential that may not write, and for a tenant
        that is disabled or gone."""
        if mode == "write":
            require_writer(identity)
        async with self._begin(self._of_identity(identity, mode, plan)) as connection:
            yield connection

    @asynccontextmanager
    async def authentication(self) -> AsyncIterator[Connection]:
        """A transaction of the runtime role that acts for nobody yet: it sees no tenant's rows, and may ask who a
        credential is."""
        acting = {
            "role": RUNTIME_ROLE,
            "tenant_id": "",
            "roles": "{}",
            "mode": "",
            "plans": "auto",
            "search_path": self._search_path,
        }
        async with self._begin(acting) as connection:
            yield connection

    @asynccontextmanager
    async def maintenance(self, tenant_id: UUID | None = None) -> AsyncIterator[Connection]:
        """A transaction of the maintenance role, which sees every tenant; functions that act on one are told `tenant_id`."""
        async with self._begin(self._of_maintenance(tenant_id)) as connection:
            yield connection

    @asynccontextmanager
    async def experiment(self, identity: Identity) -> AsyncIterator[Experiment]:
        """One transaction on one snapshot that is always rolled back, begun as a reader. What is made in it nobody else sees, and
        nothing of it stays, whatever ends the process: there is nothing to clean up."""
        reader = self._of_identity(identity, "read")

        async def begin(stack: AsyncExitStack, connection: Connection) -> None:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await stack.enter_async_context(connection.transaction(force_rollback=True))
            await self._act(connection, reader)

        async with self._borrow(begin) as connection:
            maintenance = self._of_maintenance(identity.tenant_id)
            yield Experiment(connection, self._act, reader, maintenance)

    @asynccontextmanager
    async def administration(self) -> AsyncIterator[Connection]:
        """A connection of the login itself, in autocommit: the schema and CREATE INDEX CONCURRENTLY need it. Behind a pooler
        two statements may meet two sessions: a setting lasts for the transaction that makes it."""
        async with self._borrow(_in_autocommit) as connection:
            yield connection

    def _of_identity(
        self, identity: Identity, mode: Literal["read", "write"], plan: Plan = "each"
    ) -> dict[str, str]:
        return {
            "role": RUNTIME_ROLE,
            "tenant_id": str(identity.tenant_id),
            "roles": _array_literal(identity.roles),
            "mode": mode,
            "plans": _PLANS[plan] if mode == "read" else "auto",
            "search_path": self._search_path,
        }

    def _of_maintenance(self, tenant_id: UUID | None) -> dict[str, str]:
        return {
            "role": OPS_ROLE,
            "tenant_id": str(tenant_id) if tenant_id else "",
            "roles": "{}",
            "mode": "",
            "plans": "auto",
            "search_path": self._search_path,
        }

    @asynccontextmanager
    async def _begin(self, acting: dict[str, str]) -> AsyncIterator[Connection]:
        async def begin(stack: AsyncExitStack, connection: Connection) -> None:
            level = IsolationLevel.REPEATABLE_READ if acting["mode"] == "read" else None
            await connection.set_isolation_level(level)
            await stack.enter_async_context(connection.transaction())
            await self._act(connection, acting)

        async with self._borrow(begin) as connection:
            yield connection

    @asynccontextmanager
    async def _borrow(self, begin: Begin) -> AsyncIterator[Connection]:
        """A connection on which the server has answered what `begin` sent. Server and pooler may end connections while they lie
        idle; that is noticed here, and no check before each use is needed. Nothing is sent twice but `begin`."""
        try:
            stack, connection = await self._first_alive(begin)
            async with stack:
                yield connection
        except PoolTimeout as error:
            raise unreachable(self.url, error, embedded=self._embedded) from error
        except (psycopg.OperationalError, psycopg.InternalError) as error:
            if not _is_lost(error):
                raise
            raise lost(self.url, error, embedded=self._embedded) from error

    async def _act(self, connection: Connection, acting: dict[str, str]) -> None:
        try:
            await connection.execute(statement("db", "act_as"), acting)
        except psycopg.errors.InsufficientPrivilege as error:
            raise not_permitted(self.url, acting["role"], error) from error
        except psycopg.DatabaseError as error:
            if error.sqlstate != TENANT_DISABLED:
                raise
            raise AccessDenied(
                "the tenant is disabled, or was removed", fix="ask its administrator: veraz tenant list"
            ) from error

    async def _first_alive(self, begin: Begin) -> tuple[AsyncExitStack, Connection]:
        for _ in range(self._pool.max_size):  # all that lie in the pool may be dead; the next is new
            try:
                return await self._begun(begin)
            except _NotBegun:
                continue
        return await self._begun(begin)

    async def _begun(self, begin: Begin) -> tuple[AsyncExitStack, Connection]:
        async with AsyncExitStack() as stack:
            connection = await self._taken(stack)
            try:
                await begin(stack, connection)
            except psycopg.Error as error:
                # QueryCanceled: the cancel was meant for what was done before on the session behind
                if connection.closed or isinstance(error, psycopg.errors.QueryCanceled):
                    raise _NotBegun(str(error)) from error
                raise
            return stack.pop_all(), connection

    async def _taken(self, stack: AsyncExitStack) -> Connection:
        """A connection of the pool, which goes on trying for 30 s: another server may be restarting. An embedded one that is gone
        stays so until a command starts it, so that is found out early."""
        if self._embedded:
            try:
                return await stack.enter_async_context(self._pool.connection(timeout=EMBEDDED_PATIENCE))
            except PoolTimeout:
                await _probe(self.url, embedded=True)
        return await stack.enter_async_context(self._pool.connection())


class Experiment:
    """Who acts in an experiment, turn by turn. `connection` is the one of them all."""

    def __init__(
        self, connection: Connection, act: Act, reader: dict[str, str], maintenance: dict[str, str]
    ) -> None:
        self.connection = connection
        self._act = act
        self._reader = reader
        self._maintenance = maintenance

    async def as_reader(self) -> None:
        """The runtime role for the identity, under its policies and with the plans that its searches have."""
        await self._act(self.connection, self._reader)

    async def as_maintenance(self) -> None:
        """The maintenance role, which sees every tenant."""
        await self._act(self.connection, self._maintenance)

    async def as_login(self) -> None:
        """The login itself: a schema is its to make."""
        await self._act(self.connection, {**self._maintenance, "role": "none"})


def require_writer(identity: Identity) -> None:
    """Raises AccessDenied for a credential that may not write."""
    if not identity.may_write:
        raise AccessDenied(
            f"{identity.subject or 'this credential'} may not write in tenant {identity.tenant}",
            fix="use a key made with --write, or a token whose role is one of [auth] write_roles",
        )


class _NotBegun(psycopg.OperationalError):
    """The connection ended, or was interrupted, before its first statement was answered."""


def _is_lost(error: psycopg.Error) -> bool:
    """Whether the server or the way to it failed. psycopg has an InternalError without a code for a COMMIT that a pooler answered
    twice, with the end of the session and with its own."""
    if isinstance(error, psycopg.InternalError):
        return error.sqlstate is None
    return not (error.sqlstate or "").startswith(SERVER_IS_WELL)


async def _in_autocommit(_: AsyncExitStack, connection: Connection) -> None:
    await connection.set_isolation_level(None)
    await connection.execute(statement("db", "backend"))


async def _prepare_if_direct(connection: Connection) -> None:
    """A pooler hands out cancel keys of its own, so the process that it names is not the one that answers. Behind one no
    statement is prepared: the next transaction may meet a session that does not have it, or has another of that name."""
    row = await (await connection.execute(statement("db", "backend"))).fetchone()
    if row is None or row[0] != connection.info.backend_pid:
        connection.prepare_threshold = None


async def _prepare_nothing(connection: Connection) -> None:
    connection.prepare_threshold = None


_preparing: dict[Prepare, Callable[[Connection], Awaitable[None]] | None] = {
    "auto": _prepare_if_direct,
    "off": _prepare_nothing,
    "on": None,
}


NO_CONNECTION_STRING = "(not a connection string)"


async def _probe(url: str, *, embedded: bool) -> None:
    """One plain connection first: its error is exact, where the pool would only say that it timed out."""
    try:
        connection = await AsyncConnection.connect(url, connect_timeout=10)
    except (psycopg.Error, ValueError) as error:
        if _WRONG_VALUE.search(str(error)):
            raise _unreadable(_reason(error)) from error
        raise unreachable(url, error, embedded=embedded) from error
    await connection.close()


def redact(url: str) -> str:
    """The URL without its password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return NO_CONNECTION_STRING
    host, port, name = parts.get("host", "localhost"), parts.get("port", 5432), parts.get("dbname", "")
    return f"{parts.get('user', '')}@{host}:{port}/{name}"


_OF_THE_ADMINISTRATOR = ("user", "password", "passfile", "sslcert", "sslkey", "sslpassword", "service")


def login_url(url: str, user: str, password: str) -> str:
    """The same database for another login: host, port, TLS settings and the rest of `url` stay, credentials do not."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    kept = {name: str(value) for name, value in parts.items() if name not in _OF_THE_ADMINISTRATOR}
    host, port, name = kept.pop("host", "localhost"), kept.pop("port", "5432"), kept.pop("dbname", "postgres")
    if host.startswith("/") or "," in host:  # a socket, several servers: a URL has no other place for them
        kept |= {"host": host, "port": port}
        place = ""
    else:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    query = f"?{urlencode(kept, quote_via=quote)}" if kept else ""
    return f"postgresql://{quote(user)}:{quote(password, safe='')}@{place}/{quote(name, safe='')}{query}"


_WRONG_VALUE = re.compile(r"invalid \w+ value: |definition of service .* not found")
"""How libpq words a parameter that it could not use, after it read the string."""


def check_url(url: str) -> None:
    """Raises ConfigError for what is no connection string. Of libpq's message nothing is told: it repeats the string, password
    and all."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise _unreadable("it is no connection string") from error
    for port in str(parts.get("port", "")).split(","):
        if port and not (port.isdecimal() and 1 <= int(port) <= 65535):
            raise _unreadable("its port is no number from 1 to 65535")


def _unreadable(reason: str) -> ConfigError:
    return ConfigError(
        f"the database's URL cannot be used: {reason}",
        fix="check --database, VERAZ_DATABASE_URL or VERAZ_RUNTIME_URL: it reads postgresql://user:password@host:5432/name",
    )


def unreachable(url: str, error: Exception, *, embedded: bool) -> DatabaseError:
    if embedded:
        return _embedded_gone(error)
    return DatabaseError(
        f"cannot reach PostgreSQL at {redact(url)}: {_reason(error)}",
        fix="check --database or VERAZ_DATABASE_URL, or leave it out to use the embedded server",
    )


def lost(url: str, error: Exception, *, embedded: bool) -> DatabaseError:
    full = isinstance(error, psycopg.errors.DiskFull)
    if embedded and not full:
        return _embedded_gone(error)
    first = "free space on the server's disk" if full else "see `veraz status` and `veraz server logs`"
    return DatabaseError(
        f"PostgreSQL at {redact(url)} stopped the work: {_reason(error)}",
        fix=f"{first}, then run the command again: what was committed is kept",
    )


def _embedded_gone(error: Exception) -> DatabaseError:
    return DatabaseError(
        f"the embedded server stopped the work: {_reason(error)}",
        fix="run the command again: the server starts by itself, and what was committed is kept; "
        "`veraz server logs` may say why it ended",
    )


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def not_permitted(url: str, role: str, error: Exception) -> DatabaseError:
    reason = _reason(error)
    if role == OPS_ROLE:
        return DatabaseError(
            f"this is the administrator's work, and the login of {redact(url)} may not do it: {reason}",
            fix="use the administrator's URL: --database or VERAZ_DATABASE_URL",
        )
    return DatabaseError(
        f"the login of {redact(url)} may not act as {role}: {reason}",
        fix=f"use the login that `veraz init` printed, or have its administrator run: GRANT {role} TO the login",
    )


def _quoted(names: Sequence[str]) -> list[str]:
    return ['"' + name.replace('"', '""') + '"' for name in dict.fromkeys(names)]


def _array_literal(values: Sequence[str]) -> str:
    return bytes(ListDumper(list).dump(list(values)) or b"{}").decode()
