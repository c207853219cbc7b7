"""What identity asks of the database."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from veraz.db.session import Connection
from veraz.db.statements import statement


async def find_tenant(connection: Connection, name: str) -> UUID | None:
    """The enabled tenant of a slug or an id; None where there is none."""
    row = await _authenticate(connection, {"key_digest": None, "tenant": name})
    return row[0] if row else None


async def _authenticate(connection: Connection, parameters: dict[str, Any]) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = await (
        await connection.execute(statement("identity", "authenticate"), parameters)
    ).fetchone()
    return row
