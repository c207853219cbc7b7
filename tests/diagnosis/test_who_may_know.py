"""What a caller may not know of is told exactly as what was never ingested: the same words, by the same statements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from tests.diagnosis.planting import SOURCE, TOPICS, bystanders, document, own_tenant
from tests.support.corpus import put, record

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Access
from veraz.nouns.diagnosis import Diagnosis

TOPIC = TOPICS[0]
Hide = Callable[[AsyncVeraz], Awaitable[None]]
LATER = datetime.now(UTC) + timedelta(days=2)


async def _access(engine: AsyncVeraz, access: Access) -> None:
    await put(engine, document(TOPIC), source=SOURCE)
    await engine.set_access("wanted", source=SOURCE, access=access)


async def _label(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("hr",)))


async def _owner(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("user:ana",), "owner", "user:ana"))


async def _window(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("public",), readable_from=LATER))


async def _deleted(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("hr",)))
    await engine.delete("wanted", source=SOURCE)


async def _erased(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("hr",)))
    await engine.erase("wanted", source=SOURCE)


async def _superseded(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("hr",)))
    await engine.supersede("wanted", by="other-0", source=SOURCE)


async def _two_sources(engine: AsyncVeraz) -> None:
    await _access(engine, Access(("hr",)))
    await put(engine, document(TOPIC, acl=["hr"]), source="second")


async def _failed(engine: AsyncVeraz) -> None:
    await put(engine, document(TOPIC, revised_at="not a day"), source=SOURCE, clean=False)


async def _alike(engine: AsyncVeraz) -> None:
    """An id that would be suggested, were it readable."""
    await put(engine, record("wanted2", TOPIC.fact, acl=["hr"]), source=SOURCE)


HIDDEN: dict[str, Hide] = {
    "label": _label,
    "owner": _owner,
    "window": _window,
    "deleted": _deleted,
    "erased": _erased,
    "superseded": _superseded,
    "in two sources": _two_sources,
    "failed": _failed,
    "alike": _alike,
}


async def as_reader(engine: AsyncVeraz, *, may_write: bool = False) -> AsyncVeraz:
    """Who presented a key that opens `public`."""
    made = await engine.add_key("reader", roles=["public"], may_write=may_write)
    return engine.acting_as(await engine.authenticate(key=made.key))


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is sent to the server."""
    sent: list[str] = []
    execute = psycopg.AsyncConnection.execute
    cursor_execute = psycopg.AsyncCursor.execute

    async def of_connection(self: Any, query: Any, *given: Any, **named: Any) -> Any:
        return await execute(self, query, *given, **named)

    async def of_cursor(self: Any, query: Any, *given: Any, **named: Any) -> Any:
        sent.append(query if isinstance(query, str) else query.as_string(None))
        return await cursor_execute(self, query, *given, **named)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", of_connection)
    monkeypatch.setattr(psycopg.AsyncCursor, "execute", of_cursor)
    return sent


async def told(engine: AsyncVeraz, sent: list[str], **given: Any) -> tuple[Diagnosis, list[str]]:
    reader = await as_reader(engine)
    await reader.diagnose(TOPIC.question, expect="nothing-like-it", lang="en")
    sent.clear()
    found = await reader.diagnose(TOPIC.question, lang="en", **given)
    return found, list(sent)


@pytest.mark.parametrize("given", [{}, {"source": SOURCE}, {"fact": TOPIC.fact}, {"verb": "search"}], ids=str)
@pytest.mark.parametrize("expect", ["wanted", "wanted#0"])
@pytest.mark.parametrize("way", HIDDEN)
async def test_what_may_not_be_known_is_told_as_never_ingested(
    field: AsyncVeraz, statements: list[str], way: str, expect: str, given: dict[str, Any]
) -> None:
    hidden, absent = await own_tenant(field), await own_tenant(field)
    for engine in (hidden, absent):
        await put(engine, *bystanders(TOPIC), source=SOURCE)
    await HIDDEN[way](hidden)
    of_hidden, sent_of_hidden = await told(hidden, statements, expect=expect, **given)
    of_absent, sent_of_absent = await told(absent, statements, expect=expect, **given)
    assert of_absent.stage == "never_ingested"
    assert of_hidden == of_absent
    assert sent_of_hidden == sent_of_absent
    assert len(sent_of_hidden) > 2


@pytest.mark.parametrize("way", ["label", "owner", "window"])
async def test_the_operator_is_told(field: AsyncVeraz, way: str) -> None:
    engine = await own_tenant(field)
    await put(engine, *bystanders(TOPIC), source=SOURCE)
    await HIDDEN[way](engine)
    assert (await engine.diagnose(TOPIC.question, expect="wanted")).stage == "not_permitted"
    writer = await as_reader(engine, may_write=True)  # a credential that may write is no operator
    assert (await writer.diagnose(TOPIC.question, expect="wanted")).stage == "never_ingested"


async def test_who_could_read_it_is_told_of_a_deletion(field: AsyncVeraz) -> None:
    engine = await own_tenant(field)
    await put(engine, document(TOPIC), *bystanders(TOPIC), source=SOURCE)
    reader = await as_reader(engine)
    await engine.delete("wanted", source=SOURCE)
    assert (await reader.diagnose(TOPIC.question, expect="wanted")).stage == "deleted"


async def test_a_successor_that_may_not_be_read_is_not_named(field: AsyncVeraz) -> None:
    engine = await own_tenant(field)
    await put(engine, document(TOPIC), record("heir-apparent", "The heir.", acl=["hr"]), source=SOURCE)
    await engine.supersede("wanted", by="heir-apparent", source=SOURCE)
    of_reader = await (await as_reader(engine)).diagnose(TOPIC.question, expect="wanted")
    assert of_reader.stage == "not_current"
    assert "heir-apparent" not in repr(of_reader)
    assert "heir-apparent" in repr(await engine.diagnose(TOPIC.question, expect="wanted"))


async def test_who_owns_it_is_told_as_a_reader(field: AsyncVeraz) -> None:
    engine = await own_tenant(field)
    await put(engine, document(TOPIC), *bystanders(TOPIC), source=SOURCE)
    await engine.set_access("wanted", source=SOURCE, access=Access(("user:ana",), "owner", "user:ana"))
    identity = replace(await engine.identity(), roles=("public", "user:ana"), operator=False, may_write=False)
    found = await engine.acting_as(identity).diagnose(TOPIC.question, expect="wanted", verb="search")
    assert found.stage == "found"
