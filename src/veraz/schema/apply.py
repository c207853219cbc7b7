"""Creates or upgrades the schema. Safe to repeat, and safe when two run at once: one advisory lock, one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, LiteralString, cast

import psycopg
from psycopg import AsyncConnection, sql

from veraz.db.capabilities import EXTENSIONS, Capabilities, read_capabilities, require
from veraz.db.statements import COMPARISONS, embedding_table, statement
from veraz.errors import ConfigError, DatabaseError
from veraz.nouns.corpus import SpaceSpec

OWNER, APP, OPS, AUTH = ROLES = ("veraz_owner", "veraz_app", "veraz_ops", "veraz_auth")
_LOCK = 0x7665_7261_7A00
_BULKY = ("document", "revision", "section", "chunk", "chunk_lexical", "posting")


@dataclass(frozen=True, slots=True)
class Script:
    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    """`runtime_password` is set only when this run created the runtime login or was asked to renew it. `notes` say what could
    not be done, and who can."""

    version: int
    migrations: tuple[str, ...]
    replayed: bool
    runtime_password: str | None
    notes: tuple[str, ...] = ()


def scripts(folder: str) -> tuple[Script, ...]:
    files = sorted(
        (f for f in resources.files("veraz.schema").joinpath(folder).iterdir() if f.name.endswith(".sql")),
        key=lambda f: f.name,
    )
    return tuple(Script(int(f.name.split("_")[0]), f.name, f.read_text(encoding="utf-8")) for f in files)


def latest_version() -> int:
    return scripts("migrations")[-1].number


def replay_digest() -> str:
    return hashlib.sha256("".join(s.digest for s in scripts("replay")).encode()).hexdigest()


async def installed_version(connection: AsyncConnection[Any]) -> tuple[int, str] | None:
    """The newest migration and the replay digest of this database; None where Veraz is not installed."""
    found = await (await connection.execute("select to_regclass('veraz.migration') is not null")).fetchone()
    if not found or not found[0]:
        return None
    row = await (await connection.execute(statement("schema", "installed_version"))).fetchone()
    return (row[0], row[1] or "") if row else None


async def lock_installation(connection: AsyncConnection[Any]) -> None:
    """Until the transaction ends, nobody else installs, upgrades or sets the runtime login's password."""
    await connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])


async def apply_schema(connection: AsyncConnection[Any], *, renew_runtime_password: bool = False) -> Applied:
    """Runs as an administrator, who need not be a superuser. Raises DatabaseError for a server that cannot serve, for a login
    that may not install, or a schema of a newer Veraz."""
    try:
        async with connection.transaction():
            await lock_installation(connection)
            await connection.execute("set local client_min_messages = warning")
            capabilities = await read_capabilities(connection)
            require(capabilities)
            fresh = not await _has_schema(connection)
            password = await _ensure_roles(connection, renew=renew_runtime_password)
            schema = await _ensure_extensions(connection)
            await _ensure_schema(connection, schema)
            done = await _migrate(connection, schema)
            replayed = await _replay(connection, schema, force=bool(done))
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"this login may not create what Veraz needs: {str(error).splitlines()[0]}",
            fix="run `veraz init` with the URL of an administrator (it must hold CREATEROLE, and CREATE on the database)",
        ) from error
    notes = tuple(_notes(capabilities, login_unknown=fresh and password is None))
    return Applied(latest_version(), tuple(done), replayed, password, notes)


def _notes(capabilities: Capabilities, *, login_unknown: bool) -> Iterator[str]:
    if login_unknown:
        yield (
            f"the login {APP} was there already, so its password is not known here; if nobody kept its URL, "
            "veraz init --renew-runtime-login gives it another, for every database of the server"
        )
    for extension in capabilities.extensions:
        if extension.installed and extension.available and extension.installed != extension.available:
            yield (
                f"{extension.name} {extension.installed} is installed and the server has {extension.available}; "
                f"its owner may run: ALTER EXTENSION {extension.name} UPDATE"
            )


async def _ensure_roles(connection: AsyncConnection[Any], *, renew: bool) -> str | None:
    """Roles belong to the whole server; another database's Veraz, or a superuser, may have made them already. Returns the runtime
    login's password when it was set."""
    made = [row[0] for row in await _role_states(connection)]
    try:
        for role in (r for r in ROLES if r not in made):
            kind = sql.SQL("login noinherit" if role == APP else "nologin")
            await _create_role(connection, sql.SQL("create role {} {}").format(sql.Identifier(role), kind))
        for role, usable in await _role_states(connection):
            if not usable:
                await connection.execute(_membership(connection, role))
    except psycopg.errors.InsufficientPrivilege as error:
        raise _roles_refused(connection.info.user, made, error) from error
    return await renew_runtime_password(connection) if renew or APP not in made else None


async def renew_runtime_password(connection: AsyncConnection[Any]) -> str:
    """Gives the runtime login a new password. The server is told its verifier only."""
    password = secrets.token_urlsafe(24)
    command = sql.SQL("alter role {} password {}").format(sql.Identifier(APP), verifier(connection, password))
    try:
        await connection.execute(command)
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"this login may not change the password of {APP}: {str(error).splitlines()[0]}",
            fix=f"have the administrator who made it run, in psql: \\password {APP}",
        ) from error
    return password


async def _role_states(connection: AsyncConnection[Any]) -> list[tuple[str, bool]]:
    """Those of the four roles that exist, and whether this login can already act as each."""
    statement_ = statement("schema", "role_states")
    power = "member" if connection.info.server_version < 160000 else "set"
    return await (await connection.execute(statement_, {"roles": list(ROLES), "power": power})).fetchall()


def _membership(connection: AsyncConnection[Any], role: str) -> sql.Composed:
    option = sql.SQL(" with set true, inherit true" if connection.info.server_version >= 160000 else "")
    return sql.SQL("grant {} to current_user{}").format(sql.Identifier(role), option)


def _roles_refused(login: str, made: Sequence[str], error: Exception) -> DatabaseError:
    missing = [r for r in ROLES if r not in made]
    commands = [f"CREATE ROLE {role} {'LOGIN NOINHERIT' if role == APP else 'NOLOGIN'}" for role in missing]
    commands.append(f'GRANT {", ".join(ROLES)} TO "{login}"')
    return DatabaseError(
        f"this login may not make or use the roles that Veraz needs: {str(error).splitlines()[0]}",
        fix="run `veraz init` with the URL of an administrator who holds CREATEROLE, or have one run: "
        + "; ".join(commands),
    )


def verifier(connection: AsyncConnection[Any], password: str) -> sql.Literal:
    """The password as the server keeps it: statements are logged, and a log must not hold what opens the door."""
    kept = connection.pgconn.encrypt_password(password.encode(), APP.encode(), b"scram-sha-256")
    return sql.Literal(kept.decode())


async def _create_role(connection: AsyncConnection[Any], command: sql.Composed) -> None:
    try:
        async with connection.transaction():
            await connection.execute(command)
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        pass  # made at the same moment from another database of this server


async def _ensure_extensions(connection: AsyncConnection[Any]) -> str:
    """Returns the schema that holds the extensions' types; all three must share one."""
    for name in EXTENSIONS:
        try:
            await connection.execute(
                sql.SQL("create extension if not exists {}").format(sql.Identifier(name))
            )
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseError(
                f"this login may not install the extension {name}",
                fix=f"have a superuser, or the console of the managed service, run in this database: CREATE EXTENSION {name}",
            ) from error
    rows = await (
        await connection.execute(statement("schema", "extension_schemas"), [list(EXTENSIONS)])
    ).fetchall()
    if len(rows) != 1:
        raise DatabaseError(
            f"the extensions {', '.join(EXTENSIONS)} stand in different schemas: {', '.join(row[0] for row in rows)}",
            fix="move them to one with: ALTER EXTENSION … SET SCHEMA public",
        )
    return str(rows[0][0])


async def _has_schema(connection: AsyncConnection[Any]) -> bool:
    row = await (await connection.execute("select to_regnamespace('veraz') is not null")).fetchone()
    return bool(row and row[0])


async def _ensure_schema(connection: AsyncConnection[Any], extension_schema: str) -> None:
    if not await _has_schema(connection):  # `if not exists` asks for the right to create one all the same
        await connection.execute(
            sql.SQL("create schema veraz authorization {}").format(sql.Identifier(OWNER))
        )
    await _ensure_usage(connection, extension_schema)


async def _ensure_usage(connection: AsyncConnection[Any], extension_schema: str) -> None:
    """That the four roles may use the schema of the extensions, which a managed service may own."""
    command = sql.SQL("grant usage on schema {} to {}").format(
        sql.Identifier(extension_schema), sql.SQL(", ").join(map(sql.Identifier, ROLES))
    )
    try:
        async with connection.transaction():
            if await _without_usage(connection, extension_schema):
                await connection.execute(command)  # without the right to grant it, an error or a mere warning
            missing = await _without_usage(connection, extension_schema)
    except psycopg.errors.InsufficientPrivilege:
        missing = True
    if missing:
        raise DatabaseError(
            f"this login may not let Veraz use the schema {extension_schema}, where the extensions are",
            fix="have its owner run: GRANT USAGE ON SCHEMA "
            f'{extension_schema} TO "{connection.info.user}" WITH GRANT OPTION',
        )


async def _without_usage(connection: AsyncConnection[Any], extension_schema: str) -> bool:
    parameters = {"roles": list(ROLES), "schema": extension_schema}
    cursor = await connection.execute(statement("schema", "without_usage"), parameters)
    return bool(await cursor.fetchall())


async def _migrate(connection: AsyncConnection[Any], extension_schema: str) -> list[str]:
    await act_as_owner(connection, extension_schema)
    state = await installed_version(connection)
    present = state[0] if state else -1
    if present > latest_version():
        raise DatabaseError(
            f"the schema is at version {present}, made by a newer Veraz than this one (version {latest_version()})",
            fix="upgrade: pip install --upgrade veraz",
        )
    done = []
    for script in scripts("migrations"):
        if script.number > present:
            await connection.execute(_command(script, extension_schema))
            await connection.execute(
                "insert into veraz.migration (number, name, digest) values (%s, %s, %s)",
                [script.number, script.name, script.digest],
            )
            done.append(script.name)
    await connection.execute("reset role")
    return done


async def _replay(connection: AsyncConnection[Any], extension_schema: str, *, force: bool) -> bool:
    await act_as_owner(connection, extension_schema)
    state = await installed_version(connection)
    if not force and state and state[1] == replay_digest():
        await connection.execute("reset role")
        return False
    for script in scripts("replay"):
        if script.name.endswith("_authenticate.sql"):
            await _as_authenticator(connection, _command(script, extension_schema))
        else:
            await connection.execute(_command(script, extension_schema))
    await connection.execute(statement("schema", "record_replay"), [replay_digest()])
    await connection.execute("reset role")
    return True


async def _as_authenticator(connection: AsyncConnection[Any], command: sql.SQL) -> None:
    """A SECURITY DEFINER function has the rights of its owner: this one belongs to a role that may read keys and nothing else."""
    schema, owner, auth = sql.Identifier("veraz"), sql.Identifier(OWNER), sql.Identifier(AUTH)
    await connection.execute(sql.SQL("grant create on schema {} to {}").format(schema, auth))
    await connection.execute(sql.SQL("set local role {}").format(auth))
    await connection.execute(command)
    await connection.execute(sql.SQL("set local role {}").format(owner))
    await connection.execute(sql.SQL("revoke create on schema {} from {}").format(schema, auth))


async def act_as_owner(connection: AsyncConnection[Any], extension_schema: str) -> None:
    """For the rest of the transaction, with the search path that the schema's statements need."""
    await connection.execute(sql.SQL("set local role {}").format(sql.Identifier(OWNER)))
    path = sql.SQL(", ").join(
        [sql.Identifier("veraz"), sql.Identifier(extension_schema), sql.Identifier("pg_temp")]
    )
    await connection.execute(sql.SQL("set local search_path = {}").format(path))


def _command(script: Script, extension_schema: str) -> sql.SQL:
    quoted = '"' + extension_schema.replace('"', '""') + '"'
    return sql.SQL(cast("LiteralString", script.text.replace("@extschema@", quoted)))  # type: ignore[redundant-cast]


async def ensure_space(connection: AsyncConnection[Any], space: SpaceSpec) -> int:
    """Registers an embedding space and makes its table and index. The first one becomes active. Returns its id. Raises
    ConfigError where another space has its name: what is registered stays as it is.

    Here and in `indexes.py` data-definition statements for a space are written: a table cannot be a parameter.
    """
    async with connection.transaction():
        await lock_installation(connection)
        schema = await extension_schema_of(connection)
        await act_as_owner(connection, schema)
        row = await (await connection.execute(statement("schema", "find_space"), [space.name])).fetchone()
        if row is not None:
            if (registered := SpaceSpec(*row[1:])) != space:
                raise another_space(registered, space)
            return int(row[0])
        cursor = await connection.execute(statement("schema", "register_space"), _space_parameters(space))
        made = await cursor.fetchone()
        assert made is not None
        space_id = int(made[0])
        await connection.execute(
            statement("schema", "create_embedding_table").format(
                embedding=embedding_table(space_id),
                dimension=sql.Literal(space.dimension),
                operators=COMPARISONS[space.distance].operators,
                index=sql.Identifier(f"embedding_{space_id}_hnsw"),
                document_index=sql.Identifier(f"embedding_{space_id}_document"),
            )
        )
        for script in scripts("replay"):
            if script.name.endswith(("_policies.sql", "_grants.sql")):
                await connection.execute(_command(script, schema))
        return space_id


def another_space(registered: SpaceSpec, wanted: SpaceSpec) -> ConfigError:
    """What to say where the configured embedder's vectors may not be compared with the stored ones."""
    differing = [
        name for name in SpaceSpec.__dataclass_fields__ if getattr(registered, name) != getattr(wanted, name)
    ]
    if {"model", "name", "fingerprint"} & set(differing):
        return ConfigError(
            f"the corpus is embedded with {registered.model} ({registered.name}, {registered.fingerprint[:12]}), "
            f"but the configuration names {wanted.model} ({wanted.name}, {wanted.fingerprint[:12]})",
            fix="set [embedder] back, or give the other model a database of its own: veraz init --database URL",
        )
    recorded = ", ".join(f"{name} {getattr(registered, name)!r}" for name in differing)
    stated = ", ".join(f"{name} {getattr(wanted, name)!r}" for name in differing)
    return ConfigError(
        f"the embedding space {registered.name} was made with {recorded}, but the configuration says {stated}",
        fix="a space stays as it was made: set [embedder] back, or take a database of its own: veraz init --database URL",
    )


async def extension_schema_of(connection: AsyncConnection[Any]) -> str:
    """Where the extensions are, in an installed database."""
    cursor = await connection.execute(statement("schema", "extension_schemas"), [list(EXTENSIONS)])
    return str((await cursor.fetchall())[0][0])


async def analyse_tables(connection: AsyncConnection[Any], space_id: int) -> bool:
    """Fresh planner statistics after a bulk load. False where this login may not: autovacuum does it later."""
    try:
        async with connection.transaction():
            await connection.execute(sql.SQL("set local role {}").format(sql.Identifier(OWNER)))
            for table in (*_BULKY, f"embedding_{int(space_id)}"):
                await connection.execute(sql.SQL("analyze {}").format(sql.Identifier("veraz", table)))
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


async def vacuum_documents(connection: AsyncConnection[Any], *, rewrite: bool) -> tuple[str, ...]:
    """Removes dead rows of every table that holds what was made of documents. Returns those that this login may not.
    `rewrite` leaves no freed page behind that holds old bytes, and locks out everybody else meanwhile."""
    options = sql.SQL("full, analyze" if rewrite else "analyze")
    rows = await (await connection.execute(statement("schema", "tables_of_documents"))).fetchall()
    for name, allowed in rows:
        if allowed:
            table = sql.Identifier("veraz", name)
            await connection.execute(sql.SQL("vacuum ({}) {}").format(options, table))
    return tuple(name for name, allowed in rows if not allowed)


def _space_parameters(space: SpaceSpec) -> dict[str, object]:
    return {name: getattr(space, name) for name in SpaceSpec.__dataclass_fields__}
