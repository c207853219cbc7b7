"""Rows by the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from psycopg import sql
from psycopg.rows import class_row

from veraz.db.session import Connection

Row = TypeVar("Row")


async def rows_of(
    connection: Connection, kind: type[Row], query: sql.SQL | sql.Composed, parameters: Mapping[str, Any]
) -> list[Row]:
    """Each row as an instance of `kind`, whose fields are the columns of `query`."""
    async with connection.cursor(row_factory=class_row(kind)) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()
