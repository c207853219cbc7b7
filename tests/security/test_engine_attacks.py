"""The engine as its callers use it: many identities on one engine and connection, guessed ids, what a connection remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from tests.support import databases
from tests.support.attack import engine as checks
from tests.support.attack.attackers import LABELS
from tests.support.attack.world import QUESTION, WORD, World, marker
from tests.support.corpus import put, record

from veraz.db import session
from veraz.db.statements import statement
from veraz.engine import AsyncVeraz


@pytest.fixture
async def attacked(visited: tuple[str, World]) -> AsyncIterator[tuple[AsyncVeraz, World]]:
    """On one connection, so that every identity comes after another."""
    url, world = visited
    async with await databases.open_engine(url) as engine:
        await engine._database._pool.resize(1, 1)
        yield engine, world


@pytest.mark.parametrize("check", checks.READING)
async def test_nothing_leaks_through_the_engine(attacked: tuple[AsyncVeraz, World], check: str) -> None:
    assert await checks.READING[check](*attacked) == []


@pytest.mark.parametrize("kept", ["veraz.tenant_id", "veraz.roles", "veraz.mode", "role"])
async def test_a_setting_that_outlives_its_transaction_is_reported(
    attacked: tuple[AsyncVeraz, World], monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    """SET in the place of SET LOCAL."""
    text = statement("db", "act_as").as_string(None)
    name = kept.removeprefix("veraz.")
    changed = text.replace(
        f"set_config('{kept}', %({name})s, true)", f"set_config('{kept}', %({name})s, false)"
    )
    assert changed != text
    monkeypatch.setattr(
        session,
        "statement",
        lambda stage, name: sql.SQL(changed) if name == "act_as" else statement(stage, name),
    )
    assert await checks.leftovers(*attacked)


hostile = st.text(
    alphabet=st.sampled_from(list("{}[](),;:\"'\\ \t\n\u00a0hrpublicNUL%_*-=é\u202e")), max_size=12
)
labels = st.one_of(
    st.sampled_from(
        [
            *LABELS,
            "hr,public",
            "{hr}",
            '"hr"',
            'a","hr',
            "hr\\",
            "NULL",
            "null",
            "HR",
            " hr",
            "hr ",
            "",
            "%",
            "h_",
            '\\"hr\\"',
        ]
    ),
    hostile.filter(lambda text: "\0" not in text),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(labels, max_size=4, unique=True))
async def test_roles_open_what_they_name_however_they_are_spelt(
    attacked: tuple[AsyncVeraz, World], roles: list[str]
) -> None:
    assert await checks.labels_as_given(*attacked, roles) == []


async def test_a_role_of_many_characters_opens_nothing(attacked: tuple[AsyncVeraz, World]) -> None:
    assert await checks.labels_as_given(*attacked, ["hr" * 100_000, *(f"r{n}" for n in range(2_000))]) == []


async def test_text_of_questions_is_in_no_list_of_the_server(
    visited: tuple[str, World], attacked: tuple[AsyncVeraz, World]
) -> None:
    """pg_stat_activity shows a login what its other sessions run: statements with places for values, never the values."""
    url, _ = visited
    engine, world = attacked
    with psycopg.connect(url, autocommit=True) as watching:
        async with engine._database.transaction(world.identity("hr")) as connection:
            slow = connection.execute("select pg_sleep(0.5), %s::text", [QUESTION])
            running = asyncio.create_task(slow)
            await asyncio.sleep(0.2)
            seen = [row[0] for row in watching.execute("select query from pg_stat_activity").fetchall()]
            await running
    assert any("pg_sleep(0.5)" in query for query in seen), "the running statement was not seen"
    assert not [query for query in seen if QUESTION in query]


async def test_an_earlier_day_shows_nothing_that_is_hidden_today(engine: AsyncVeraz) -> None:
    """Permissions and deletions are today's, whichever day is asked for."""
    text = "The limit is 40 units."
    await put(
        engine,
        record("taken", text, valid_from="2024-01-01"),
        record("deleted", f"{text} Always.", valid_from="2024-01-01"),
    )
    day = date(2024, 6, 1)
    assert len((await engine.search("limit", lang="en", as_of=day)).hits) == 2
    await put(engine, record("taken", text, valid_from="2024-01-01", acl=["hr"]))
    assert await engine.delete("deleted", source="s")
    for mode in ("lexical", "semantic", "hybrid"):
        assert (await engine.search("limit", lang="en", mode=mode, as_of=day)).hits == ()
    answer = await engine.ask("What is the limit?", lang="en", as_of=day)
    assert answer.citations == ()


async def test_what_a_hidden_document_is_replaced_by_or_replaces_is_named_to_nobody(
    attacked: tuple[AsyncVeraz, World],
) -> None:
    engine, world = attacked
    public = engine.acting_as(world.identity("public"))
    shown = await public.show(marker("was"))
    assert (shown.superseded_by, (await public.show(marker("outer"))).supersedes) == (None, ())
    hits = (await public.search(WORD, lang="en", k=100, as_of=date(2023, 1, 1))).hits
    assert not [h for h in hits if marker("next") in repr(h)]
