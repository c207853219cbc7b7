"""Indexes of extensions over the chunks' text: an operator asks for them, and drops them. `veraz init` makes none.

A build is one transaction, so that what fails leaves no invalid index behind. Writers wait while it runs, readers do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql

from veraz.db.statements import statement
from veraz.errors import DatabaseError, UsageError
from veraz.nouns.lexical import ExtensionName
from veraz.schema.apply import act_as_owner, extension_schema_of


async def rebuild(
    connection: AsyncConnection[Any],
    name: ExtensionName,
    indexes: Mapping[str, Mapping[str, sql.Composable]],
    extension_schema: str,
) -> int:
    """Builds each index anew, by its name, with what stands in the slots of its statement; returns their bytes. `connection`: the
    administrator's, in autocommit. Raises UsageError for a login that may not, DatabaseError in the server's words where the
    extension does not take what is asked."""
    schema, size = await extension_schema_of(connection), 0
    for index, slots in indexes.items():
        try:
            async with connection.transaction():
                await act_as_owner(connection, schema)
                await connection.execute(_path(schema, extension_schema))
                await connection.execute(_dropping(index))
                named = sql.Identifier(index)
                await connection.execute(statement("schema", f"build_{name}").format(index=named, **slots))
                size += await _size(connection, index)
        except psycopg.errors.InsufficientPrivilege as error:
            raise _not_permitted(error) from error
        except psycopg.Error as error:
            raise DatabaseError(
                f"{name} does not build {index}: {_first_line(error)}",
                fix="see that its release is one that docs/how-to/lexical-engines.md speaks of; no index is there now, and the"
                " postings answer",
            ) from error
    return size


async def drop(connection: AsyncConnection[Any], indexes: Sequence[str]) -> tuple[str, ...]:
    """Drops those of the indexes that are there, and returns their names. Raises UsageError for a login that may not."""
    schema, dropped = await extension_schema_of(connection), list[str]()
    try:
        async with connection.transaction():
            await act_as_owner(connection, schema)
            for index in indexes:
                if await _exists(connection, index):
                    await connection.execute(_dropping(index))
                    dropped.append(index)
    except psycopg.errors.InsufficientPrivilege as error:
        raise _not_permitted(error) from error
    return tuple(dropped)


def _path(*schemas: str) -> sql.Composed:
    """Types and operators of the extension may lie in a schema of their own."""
    names = ["veraz", *dict.fromkeys(schemas), "pg_temp"]
    return sql.SQL("set local search_path = {}").format(sql.SQL(", ").join(map(sql.Identifier, names)))


def _dropping(index: str) -> sql.Composed:
    return statement("schema", "drop_index").format(index=sql.Identifier("veraz", index))


async def _size(connection: AsyncConnection[Any], index: str) -> int:
    cursor = await connection.execute(statement("schema", "index_state"), {"index": f"veraz.{index}"})
    row = await cursor.fetchone()
    return int(row[0] or 0) if row else 0


async def _exists(connection: AsyncConnection[Any], index: str) -> bool:
    cursor = await connection.execute(statement("schema", "index_exists"), {"index": f"veraz.{index}"})
    row = await cursor.fetchone()
    return bool(row and row[0])


def _not_permitted(error: psycopg.Error) -> UsageError:
    return UsageError(
        f"this login may not build indexes: {_first_line(error)}",
        fix="use the administrator's URL: --database or VERAZ_DATABASE_URL",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
