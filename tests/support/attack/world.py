"""Two tenants with one document for every way of being hidden. What belongs to a document carries its marker in every column."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.support.corpus import put, record
from tests.support.tenants import REMAINING
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity

WORD = "commonzq"
"""In every text of both tenants."""
QUESTION = "zqquestionqz"
"""In the question of a trace that needs the label hr."""
_DAY = timedelta(days=1)


def marker(name: str) -> str:
    return f"zq{name}qz"


def _moment(days: int) -> str:
    return (datetime.now(UTC) + days * _DAY).isoformat()


def _document(name: str, acl: Any, *, rest: str = "rest", **fields: Any) -> dict[str, Any]:
    word = marker(name)
    text = f"# Heading {word}\n\nThe {WORD} of {word}.\n\n## More {word}\n\nThe {rest} of {word}."
    named = {
        "url": f"https://example.org/{word}",
        "license": word,
        "document_type": word,
        "note": {word: word},
    }
    stated = {"acl": acl, "valid_from": "2024-01-01", "format": "markdown", **named, **fields}
    return {**record(word, text), **stated}


def alpha_documents() -> list[dict[str, Any]]:
    return [
        _document("open", ["public"]),
        _document("pay", ["hr"]),
        _document("both", {"all": ["hr", "legal"]}),
        _document("owned", {"owner": "user:ana"}),
        _document("soon", {"any": ["early"], "from": _moment(30)}),
        _document("over", {"any": ["late"], "until": _moment(-30)}),
        _document("gone", ["public"]),
        _document("was", ["public"]),
        _document("next", ["hr"], supersedes=marker("was")),
        _document("leaving", ["public"]),
        _document("left", ["public"], supersedes=marker("leaving")),
        _document("inner", ["hr"]),
        _document("outer", ["public"], supersedes=marker("inner")),
        _document("lost", ["public"]),
        _document("kept", ["public"], supersedes=marker("lost")),
        _document("turned", ["public"]),
        {**_document("turned", ["hr"], valid_from="2025-01-01"), "title": "turned again"},
    ]


def beta_documents() -> list[dict[str, Any]]:
    """The word is as frequent here as it can be, and in every second chunk of alpha: figures of both together are neither's."""
    return [
        _document("foreign", ["public"], rest=WORD),
        _document("former", ["public"], rest=WORD),
        _document("latter", ["public"], rest=WORD, supersedes=marker("former")),
    ]


@dataclass(frozen=True, slots=True)
class World:
    """The tenants: alpha is attacked, beta is another one."""

    alpha: UUID
    beta: UUID

    def identity(self, *roles: str) -> Identity:
        return Identity(self.alpha, "default", roles)

    def foreigner(self, *roles: str) -> Identity:
        return Identity(self.beta, "beta", roles or ("public", "hr", "legal", "user:ana", "early", "late"))


async def fill(engine: AsyncVeraz) -> World:
    world = World((await engine.identity()).tenant_id, (await engine.ensure_tenant("beta")).tenant_id)
    for document in alpha_documents():  # one by one: two versions of one document are two runs
        await put(engine, document, authority=4)
    for name in ("gone", "left", "lost"):
        await engine.delete(marker(name), source="s")
    await put(engine, *beta_documents(), source="b", identity=world.foreigner())
    asked = (world.identity("public", "hr"), f"{WORD} {QUESTION}"), (world.identity("public"), WORD)
    for identity, question in (*asked, (world.foreigner("public"), WORD)):
        await engine.acting_as(identity).search(question, lang="en")
        await engine.acting_as(identity).ask(question, lang="en")
    async with engine._database.maintenance() as connection:
        for tenant in (world.alpha, world.beta):
            for statement in REMAINING:
                await connection.execute(statement, {"tenant": tenant})
    await engine._analyze()  # statistics hold values of rows
    return world
