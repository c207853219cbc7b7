"""What the arms return is what row-level security lets the runtime role read of `chunk`: on random labels, rules, owners,
windows, deletions and supersessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import databases
from tests.support.corpus import put, record

from veraz.db.session import Connection
from veraz.engine import AsyncVeraz
from veraz.ingest import store as ingest_store
from veraz.nouns.corpus import Access, Identity, IndexKind
from veraz.nouns.question import Filters
from veraz.search import store

LABELS = ["public", "hr", "legal", "user:ana", 'a"b', "c,d", "{}", "x' or '1'='1"]
WORD = "commonword"
DOCUMENTS = 24
MONTHS = [date(2024, month, 1) for month in (1, 4, 7, 10)]


def documents() -> Iterator[dict[str, object]]:
    """Every document holds the word; some have two dated revisions, some replace another one."""
    for n in range(DOCUMENTS):
        text = "\n\n".join(
            f"# Part {part}\n\nThe {WORD} of document{n} part{part}." for part in range(1 + n % 3)
        )
        replaces = {"supersedes": f"d{n - 1}"} if n % 6 == 5 else {}
        yield record(f"d{n}", text, format="markdown", valid_from=str(MONTHS[n % 4]), **replaces)
        if n % 3 == 0 or replaces:
            changed = f"{text}\n\nChanged."
            yield record(f"d{n}", changed, format="markdown", valid_from="2025-02-01", **replaces)


@pytest.fixture(scope="module")
def filled(server: str, template: str) -> Iterator[str]:
    async def fill(url: str) -> None:
        async with await databases.open_engine(url) as engine:
            await put(engine, *documents())

    with databases.fresh(server, template) as url:
        asyncio.run(fill(url))
        yield url


@pytest.fixture
async def engine(filled: str) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(filled) as opened:
        yield opened


NOW = datetime.now(UTC)
moments = st.sampled_from(
    [None, NOW - timedelta(days=2), NOW - timedelta(days=1), NOW + timedelta(days=1), NOW + timedelta(days=2)]
)


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    rule = draw(st.sampled_from(["any", "all", "owner"]))
    owner = draw(st.sampled_from(LABELS)) if rule == "owner" else draw(st.sampled_from([None, *LABELS]))
    window = sorted(m for m in (draw(moments), draw(moments)) if m is not None)
    begin, end = (
        (window[0], window[1]) if len(window) == 2 and window[0] < window[1] else (draw(moments), None)
    )
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
    return Access(tuple(labels), rule, owner, begin, end)  # type: ignore[arg-type]


def expected(access: Access, roles: tuple[str, ...]) -> bool:
    """The definition, written without the function that the schema uses."""
    if access.owner in roles:
        return True
    begun = access.readable_from is None or access.readable_from <= NOW
    over = access.readable_until is not None and access.readable_until <= NOW
    held = [label in roles for label in access.labels]
    return begun and not over and {"any": any(held), "all": all(held), "owner": False}[access.rule]


async def set_access(engine: AsyncVeraz, given: list[tuple[Access, bool]]) -> dict[UUID, bool]:
    """Gives every document its access and deletion. Returns whether each is deleted."""
    deleted = {}
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        rows = await (
            await connection.execute("select document_id from veraz.document order by external_id")
        ).fetchall()
        for (document_id,), (access, gone) in zip(rows, given, strict=True):
            assert await ingest_store.update_access(connection, document_id, access)
            deleted[document_id] = gone
        await connection.execute(
            "update veraz.document set deleted_at = case when document_id = any (%s) then now() end",
            [[d for d, gone in deleted.items() if gone]],
        )
    return deleted


async def ids(connection: Connection, condition: str) -> set[UUID]:
    cursor = await connection.execute(f"select chunk_id from veraz.chunk where {condition}")  # type: ignore[arg-type]  # noqa: S608
    return {row[0] for row in await cursor.fetchall()}


async def arms(
    connection: Connection, engine: AsyncVeraz, *, exact: bool, as_of: date | None, kind: IndexKind = "hnsw"
) -> dict[str, set[UUID]]:
    vector = (await (await engine._open_embedder()).embed([WORD], "query")).vectors[0]
    space = (await engine.space()).space_id
    lexical = store.LexicalQuestion(WORD, "en", 1000, 1_000_000, 1000)
    semantic = store.SemanticQuestion(vector, space, 1000, 200, 40_000, exact, kind=kind)
    if as_of is None:
        found = await store.run_arms(connection, Filters(), lexical, semantic)
    else:
        found = await store.run_arms_as_of(connection, Filters(), lexical, semantic, as_of)
    assert found.lexical is not None
    assert found.semantic is not None
    assert len({c.chunk_id for c in found.lexical}) == len(found.lexical)
    return {"lexical": {c.chunk_id for c in found.lexical}, "semantic": {c.chunk_id for c in found.semantic}}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(accesses(), st.sampled_from([False, False, False, True])),
        min_size=DOCUMENTS,
        max_size=DOCUMENTS,
    ),
    st.lists(st.sampled_from(LABELS), max_size=4, unique=True),
    st.sampled_from([None, *MONTHS, date(2025, 3, 1)]),
)
async def test_arms_return_what_the_policy_lets_through(
    engine: AsyncVeraz, given_: list[tuple[Access, bool]], roles: list[str], day: date | None
) -> None:
    acting = replace(await engine.identity(), roles=tuple(roles))
    await set_access(engine, given_)
    await compare(engine, acting, given_, day)


async def compare(
    engine: AsyncVeraz, acting: Identity, given_: list[tuple[Access, bool]], day: date | None
) -> None:
    async with engine._database.transaction(acting) as connection:
        rows = await (
            await connection.execute("select external_id from veraz.document order by external_id")
        ).fetchall()
        names = sorted(f"d{n}" for n in range(DOCUMENTS))
        readable = {
            n
            for n, (access, gone) in zip(names, given_, strict=True)
            if not gone and expected(access, acting.roles)
        }
        assert {row[0] for row in rows} == readable, [
            (n, asdict(a)) for n, (a, _) in zip(names, given_, strict=True)
        ]
        wanted = await ids(connection, "is_current" if day is None else held_on(day))
        ways: list[tuple[bool, IndexKind]] = [(False, "hnsw"), (False, "binary"), (True, "hnsw")]
        for exact, kind in ways:
            found = await arms(connection, engine, exact=exact, as_of=day, kind=kind)
            assert found == {"lexical": wanted, "semantic": wanted}
        assert set(await store.hydrate(connection, sorted(await every_chunk(engine)))) == await ids(
            connection, "true"
        )


def held_on(day: date) -> str:
    """Chunks of the revision of each document that held on a day, by its definition."""
    return f"""revision_id in (
        select revision_id from veraz.revision r
          join veraz.document d using (tenant_id, document_id)
         where r.valid_from <= '{day}' and not exists (select from veraz.revision later where later.document_id = r.document_id
                                                          and later.valid_from <= '{day}' and later.valid_from > r.valid_from)
           and d.external_id <> all ('{{{",".join(replaced_on(day))}}}'))"""  # noqa: S608


def replaced_on(day: date) -> set[str]:
    """Documents that another one had said by that day that it replaces."""
    return {
        str(d["supersedes"]) for d in documents() if "supersedes" in d and str(d["valid_from"]) <= str(day)
    }


async def every_chunk(engine: AsyncVeraz) -> set[UUID]:
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        return await ids(connection, "true")
