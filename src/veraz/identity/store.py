"""What identity asks of the database. Keys and tenants are the maintenance role's; who a credential is, anybody may ask."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.identity.keys import Secret
from veraz.nouns.corpus import Identity
from veraz.nouns.identity import ApiKey, Tenant


async def find_tenant(connection: Connection, name: str) -> tuple[UUID, str] | None:
    """The id and slug of the enabled tenant that a slug or an id names; None where there is none."""
    row = await _authenticate(connection, {"key_digest": None, "tenant": name})
    return (row[0], row[1]) if row else None


async def find_key(connection: Connection, digest: bytes, subject: str) -> Identity | None:
    """Who holds the key; None when it is unknown, expired or revoked, or its tenant disabled. Notes its use."""
    row = await _authenticate(connection, {"key_digest": digest, "tenant": None})
    return Identity(row[0], row[1], tuple(row[2]), may_write=row[3], subject=subject) if row else None


async def _authenticate(connection: Connection, parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
    return await _row(connection, "authenticate", parameters)


async def add_key(
    connection: Connection,
    secret: Secret,
    *,
    name: str,
    roles: tuple[str, ...],
    may_write: bool,
    expires_at: datetime | None,
) -> ApiKey:
    parameters = {
        "prefix": secret.prefix,
        "key_hash": secret.digest,
        "name": name,
        "roles": list(roles),
        "may_write": may_write,
        "expires_at": expires_at,
    }
    row = await _row(connection, "add_key", parameters)
    assert row is not None
    return _key(row)


async def keys(connection: Connection) -> tuple[ApiKey, ...]:
    return tuple(_key(row) for row in await _rows(connection, "keys", {}))


async def revoke_key(connection: Connection, prefix: str) -> ApiKey | None:
    row = await _row(connection, "revoke_key", {"prefix": prefix})
    return _key(row) if row else None


async def tenants(connection: Connection, slug: str | None = None) -> tuple[Tenant, ...]:
    return tuple(Tenant(*row) for row in await _rows(connection, "tenants", {"slug": slug}))


async def add_tenant(connection: Connection, slug: str, name: str | None = None) -> bool:
    """False where one of that slug exists: it is left as it is."""
    return await _row(connection, "add_tenant", {"slug": slug, "name": name}) is not None


async def set_disabled(connection: Connection, slug: str, disabled: bool) -> UUID | None:
    row = await _row(connection, "set_disabled", {"slug": slug, "disabled": disabled})
    return row[0] if row else None


async def erase_rows(connection: Connection, tenant_id: UUID, at_most: int) -> int:
    row = await _row(connection, "erase_rows", {"tenant_id": tenant_id, "at_most": at_most})
    assert row is not None
    return int(row[0])


async def delete_tenant(connection: Connection, tenant_id: UUID) -> bool:
    """Raises psycopg's ForeignKeyViolation while rows refer to it."""
    return await _row(connection, "delete_tenant", {"tenant_id": tenant_id}) is not None


def _key(row: tuple[Any, ...]) -> ApiKey:
    prefix, name, tenant, roles, *rest = row
    return ApiKey(prefix, name, tenant, tuple(roles), *rest)


async def _rows(connection: Connection, name: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return await (await connection.execute(statement("identity", name), parameters)).fetchall()


async def _row(connection: Connection, name: str, parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = await (
        await connection.execute(statement("identity", name), parameters)
    ).fetchone()
    return row
