"""What the server can do: read once per connection pool, refused early when it cannot serve Veraz."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

from veraz.db.statements import statement
from veraz.errors import DatabaseError

MINIMUM_SERVER = 150000
MINIMUM_PGVECTOR = (0, 8, 0)
EXTENSIONS = ("vector", "pg_trgm", "unaccent")


@dataclass(frozen=True, slots=True)
class Extension:
    name: str
    installed: str | None  # version in this database
    available: str | None  # version that CREATE EXTENSION would install
    schema: str | None


@dataclass(frozen=True, slots=True)
class Capabilities:
    server_version: str
    server_number: int
    encoding: str
    extensions: tuple[Extension, ...]
    is_superuser: bool
    can_create_roles: bool

    @property
    def pgvector(self) -> str | None:
        return self.extension("vector").installed

    def extension(self, name: str) -> Extension:
        return next((e for e in self.extensions if e.name == name), Extension(name, None, None, None))

    @property
    def extension_schemas(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.schema for e in self.extensions if e.schema))


async def read_capabilities(connection: AsyncConnection[Any]) -> Capabilities:
    cursor = await connection.execute(statement("db", "capabilities"))
    row = await cursor.fetchone()
    assert row is not None
    version, number, encoding, superuser, create_roles, extensions = row
    known = tuple(Extension(e["name"], e["installed"], e["available"], e["schema"]) for e in extensions or ())
    return Capabilities(version, number, encoding, known, superuser, create_roles)


def require(capabilities: Capabilities) -> None:
    """Raises DatabaseError for a server that is too old, or lacks an extension or the encoding."""
    if capabilities.server_number < MINIMUM_SERVER:
        raise DatabaseError(
            f"PostgreSQL {capabilities.server_version} is too old; Veraz needs 15 or newer",
            fix="upgrade the server, or leave out --database to use the embedded one",
        )
    if capabilities.encoding != "UTF8":
        raise DatabaseError(
            f"the database's encoding is {capabilities.encoding}; Veraz needs UTF8",
            fix="create it with: CREATE DATABASE veraz ENCODING 'UTF8' TEMPLATE template0",
        )
    for name in EXTENSIONS:
        extension = capabilities.extension(name)
        if extension.installed is None and extension.available is None:
            package = "pgvector" if name == "vector" else "postgresql-contrib"
            raise DatabaseError(
                f"the extension {name} is not available on this server",
                fix=f"install {package} on the server, then: CREATE EXTENSION {name}",
            )
    version = capabilities.extension("vector").installed or capabilities.extension("vector").available or "0"
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < MINIMUM_PGVECTOR:
        raise DatabaseError(
            f"pgvector {version} is too old; Veraz needs 0.8.0 or newer",
            fix="upgrade the package on the server, then: ALTER EXTENSION vector UPDATE",
        )
