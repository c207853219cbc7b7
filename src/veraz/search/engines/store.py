"""What is asked of extensions that have a lexical index of their own: one function per statement, inside the caller's
transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.nouns.lexical import EngineQuestion, ExtensionName

STAGE = "search/engines"


@dataclass(frozen=True, slots=True)
class Extension:
    """Versions in this database and on its server, and the schema that holds what it defines."""

    installed: str | None
    available: str | None
    schema: str | None


Best = Callable[
    [Connection, EngineQuestion, Sequence[str], Sequence[str], Extension],
    Awaitable[list[tuple[UUID, float]]],
]


async def extension(connection: Connection, name: ExtensionName) -> Extension:
    cursor = await connection.execute(statement(STAGE, "extension"), {"name": name})
    row = await cursor.fetchone()
    return Extension(None, None, None) if row is None else Extension(*row)


async def indexes(connection: Connection, name: ExtensionName, tenant_id: UUID) -> dict[str, bool]:
    """Whether there is a valid index, by analyser of the tenant's current chunks."""
    wanted = {"name": index_name(name, tenant_id, "*")}
    cursor = await connection.execute(statement(STAGE, "indexes"), wanted)
    return {analyser: is_built for analyser, is_built, _ in await cursor.fetchall()}


async def best_of_pg_textsearch(
    connection: Connection,
    question: EngineQuestion,
    analysers: Sequence[str],
    languages: Sequence[str],
    found: Extension,
) -> list[tuple[UUID, float]]:
    """An index has one language, so each is asked, and the best of all are kept: scores of each are BM25 over its own chunks, as
    the postings' are."""
    tenant_id, rows = question.identity.tenant_id, list[tuple[UUID, float]]()
    async with connection.pipeline():
        asked = [
            await connection.execute(
                statement(STAGE, "pg_textsearch").format(
                    schema=sql.Identifier(found.schema or "public"),
                    index=sql.Literal(index_name("pg_textsearch", tenant_id, analyser)),
                    **covered(tenant_id, analyser, languages),
                ),
                {"question": question.text, "depth": question.depth},
            )
            for analyser in analysers
        ]
        for cursor in asked:
            rows += await cursor.fetchall()
    return sorted(rows, key=lambda row: (-row[1], row[0]))[: question.depth]


async def best_of_pg_search(
    connection: Connection, question: EngineQuestion, *_: Sequence[str] | Extension
) -> list[tuple[UUID, float]]:
    """The one index covers all languages, and its objects have schemas of their own."""
    asked = {"question": question.text, "depth": question.depth}
    cursor = await connection.execute(statement(STAGE, "pg_search"), asked)
    return list(await cursor.fetchall())


def index_name(name: ExtensionName, tenant_id: UUID, analyser: str) -> str:
    """pg_textsearch takes an index for each tenant and analyser; of pg_search a table can have one alone."""
    if name == "pg_search":
        return "chunk_pg_search"
    return f"chunk_textsearch_{tenant_id.hex}_{analyser}"


def covered(tenant_id: UUID, analyser: str, languages: Sequence[str]) -> dict[str, sql.Composable]:
    """Which chunks an index of pg_textsearch holds, as literals: a partial index is matched against these alone. A language
    without an analyser of its own is in none of `languages`."""
    listed = analyser in languages
    return {
        "tenant": sql.Literal(str(tenant_id)),
        "langs": sql.Literal([analyser] if listed else list(languages)),
        "listed": sql.Literal(listed),
    }


def built_with(
    name: ExtensionName, tenant_id: UUID, analysers: Sequence[str], languages: Sequence[str]
) -> dict[str, dict[str, sql.Composable]]:
    """Every index that a tenant with these analysers needs, by its name, with what stands in the slots of the statement that
    builds it."""
    if name == "pg_search":
        return {index_name(name, tenant_id, "*"): {}}
    return {
        index_name(name, tenant_id, analyser): {
            "text_config": sql.Literal(f"veraz.lex_{analyser}"),
            **covered(tenant_id, analyser, languages),
        }
        for analyser in analysers
    }
