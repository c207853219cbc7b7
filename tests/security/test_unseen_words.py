"""That nothing readable holds a word is told by what is missing from a result, which the other checks cannot see: here each
predicate that decides it is taken away, with a word that only what it hides holds."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.support import databases
from tests.support.attack.mutations import TOLD_BY_ABSENCE, without_each
from tests.support.corpus import put, record
from tests.support.statement_files import filled, statement_of

from veraz.engine import AsyncVeraz
from veraz.filters.compose import composed
from veraz.nouns.question import Filters
from veraz.search import store

QUESTION = store.LexicalQuestion("a zephyros and a horse", "en", pool=10, budget=1000, rescored=10)
GIVEN = store._lexical_parameters(QUESTION, Filters(), composed(Filters(), "l"))


async def hide(engine: AsyncVeraz, url: str, by: str) -> None:
    """The one text that says zephyros, hidden by nothing but this."""
    await put(engine, record("open", "A horse.", title="H"))
    text = record(
        "hidden", "The zephyros blows.", title="Z", **({"acl": ["secret"]} if by == "may_read" else {})
    )
    if by == "tenant":
        async with await databases.open_engine(url, tenant="other") as other:
            await other.init()
            await put(other, text)
    else:
        await put(engine, text)
    if by == "deletions":
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("update veraz.document set deleted_at = now() where external_id = 'hidden'")


def unseen(url: str, tenant: Any, name: str, text: sql.Composable) -> list[str]:
    """As whom no policy binds: what the statement itself says counts."""
    with psycopg.connect(url) as admin:
        admin.execute(
            "select set_config('veraz.tenant_id', %s, true), set_config('veraz.roles', '{public}', true)",
            [str(tenant)],
        )
        row = admin.execute(text, GIVEN).fetchone()
    assert row is not None
    return list((row[5] if name == "search/lexical" else row[0]) or [])


@pytest.mark.parametrize(("name", "missing"), sorted(TOLD_BY_ABSENCE), ids=" ".join)
async def test_what_only_the_hidden_say_counts_as_unseen(database: str, name: str, missing: str) -> None:
    async with await databases.open_engine(database) as engine:
        await hide(engine, database, missing.split()[0])
        tenant = (await engine.identity()).tenant_id
        assert unseen(database, tenant, name, filled(statement_of(name))) == ["zephyro"]
        assert unseen(database, tenant, name, dict(without_each(name))[missing]) == []
