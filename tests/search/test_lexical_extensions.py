"""pg_textsearch and pg_search as lexical engines. No server of these tests has either: their statements run over stand-ins of the
documented names and types, and what is tested is ours: the check at the start, the refusals, the permissions, the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.search.test_lexical_engines import chunks, found_ids, of_engine
from tests.support import databases, standins
from tests.support.corpus import put, record

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.errors import ConfigError, DatabaseError, UsageError
from veraz.nouns.evidence import SearchResult
from veraz.nouns.lexical import ExtensionName

TEXTS = {
    "short": "Metformin.",
    "often": "Metformin, metformin and metformin.",
    "secret": "Metformin, metformin, metformin and metformin.",
    "sleep": "Sleep well.",
}


async def filled(engine: AsyncVeraz) -> None:
    for name, text in TEXTS.items():
        labels = {"acl": ["secret"]} if name == "secret" else {}
        await put(engine, record(name, text, title="t", **labels))
    other = await engine.ensure_tenant("other")
    await put(engine, record("theirs", "Metformin, " * 9, title="t"), identity=other)


async def searched(
    database: str, engine: ExtensionName, *, roles: Sequence[str] = ("public",), question: str = "metformin"
) -> SearchResult:
    async with await databases.open_engine(database, search=SearchConfig(lexical=engine)) as opened:
        reader = opened.acting_as(replace(await opened.identity(), roles=tuple(roles)))
        return await reader.search(question, lang="en", mode="lexical", trace=False)


async def told(database: str, engine: ExtensionName) -> tuple[bool, str, str | None]:
    """What `veraz status` says of it."""
    async with await databases.open_engine(database, search=SearchConfig(lexical=engine)) as opened:
        check = next(c for c in (await opened.status()).health if c.check == "lexical engine")
    return check.ok, check.detail, check.fix


@pytest.mark.parametrize("name", ["pg_textsearch", "pg_search"])
async def test_an_extension_that_is_not_there_is_refused_with_the_fix(
    engine: AsyncVeraz, database: str, name: ExtensionName
) -> None:
    with pytest.raises(ConfigError) as refused:
        await searched(database, name)
    assert refused.value.what == f"[search] lexical is {name}, and this database does not have that extension"
    assert refused.value.fix is not None
    assert f"create extension {name}" in refused.value.fix
    with pytest.raises(ConfigError, match="does not have that extension"):
        await engine.build_lexical_index(name)
    assert (await engine.build_lexical_index(name, drop=True)).indexes == ()
    standins.installed(database, name, "0.9.3", "public")
    with pytest.raises(ConfigError, match=rf"{name} 0\.9\.3 is too old|does not take what") as old:
        await searched(database, name)
    assert name != "pg_textsearch" or "too old" in str(old.value)


async def test_pg_textsearch_orders_and_the_runtime_role_permits(engine: AsyncVeraz, database: str) -> None:
    await filled(engine)
    tenant = (await engine.identity()).tenant_id
    standins.run(database, *standins.TEXTSEARCH)
    standins.installed(database, "pg_textsearch", "1.5.1", "standin")
    without = await searched(database, "pg_textsearch")
    assert found_ids(without) == ["often", "short"]
    assert without.notes == (
        "the lexical engine pg_textsearch was of no use (tenant default has no index of pg_textsearch for en);"
        " the postings answered (fix: veraz index lexical pg_textsearch)",
    )
    assert await told(database, "pg_textsearch") == (
        False,
        "tenant default has no index of pg_textsearch for en",
        "veraz index lexical pg_textsearch",
    )
    standins.index(database, f"chunk_textsearch_{tenant.hex}_en")
    assert await told(database, "pg_textsearch") == (True, "pg_textsearch 1.5.1 answers", None)
    found = await searched(database, "pg_textsearch")
    assert found_ids(found) == ["short", "often"]
    assert (of_engine(found)["version"], of_engine(found)["outcome"], of_engine(found)["found"]) == (
        "1.5.1",
        "answered",
        2,
    )
    scores = [h.lexical.score for h in found.hits if h.lexical]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0
    insider = await searched(database, "pg_textsearch", roles=("public", "secret"))
    assert found_ids(insider) == ["short", "often", "secret"]
    # What the server says of SQL that does not fit is said when the engine is opened, not in each search.
    standins.run(database, "drop operator standin.<@> (text, standin.bm25query)")
    with pytest.raises(
        ConfigError, match=r"pg_textsearch 1\.5\.1 does not take what Veraz asks.*operator does not exist"
    ) as wrong:
        await searched(database, "pg_textsearch")
    assert wrong.value.fix == "veraz index lexical pg_textsearch; or leave lexical at postings"


async def test_pg_search_orders_and_the_runtime_role_permits(engine: AsyncVeraz, database: str) -> None:
    await filled(engine)
    keys = await chunks(engine)
    standins.run(database, *standins.SEARCH)
    standins.installed(database, "pg_search", "0.27.1", "public")
    standins.index(database, "chunk_pg_search")
    standins.scores(
        database,
        {keys[name]: score for name, score in (("theirs", 9), ("secret", 8), ("short", 7), ("often", 6))},
    )
    found = await searched(database, "pg_search")
    assert [(h.document.external_id, h.lexical.score) for h in found.hits if h.lexical] == [
        ("short", 7.0),
        ("often", 6.0),
    ]
    assert of_engine(found)["outcome"] == "answered"
    assert found_ids(await searched(database, "pg_search", roles=("public", "secret"))) == [
        "secret",
        "short",
        "often",
    ]


async def test_a_build_that_the_server_does_not_take_leaves_nothing_behind(
    engine: AsyncVeraz, database: str
) -> None:
    standins.installed(database, "pg_textsearch", "1.5.1", "public")
    with pytest.raises(UsageError, match="holds no documents yet"):
        await engine.build_lexical_index("pg_textsearch")
    await filled(engine)
    tenant = (await engine.identity()).tenant_id
    with pytest.raises(
        DatabaseError,
        match=f'does not build chunk_textsearch_{tenant.hex}_en: access method "bm25" does not exist',
    ):
        await engine.build_lexical_index("pg_textsearch")
    standins.index(database, f"chunk_textsearch_{tenant.hex}_en")
    dropped = await engine.build_lexical_index("pg_textsearch", drop=True)
    assert dropped.indexes == (f"chunk_textsearch_{tenant.hex}_en",)


async def test_one_index_for_several_tenants_has_to_be_wanted(engine: AsyncVeraz, database: str) -> None:
    await filled(engine)
    standins.installed(database, "pg_search", "0.27.1", "public")
    with pytest.raises(UsageError, match="holds the chunks of all 2 tenants") as refused:
        await engine.build_lexical_index("pg_search")
    assert "--shared-statistics" in (refused.value.fix or "")
    with pytest.raises(DatabaseError, match=r"pg_search does not build chunk_pg_search: .* does not exist"):
        await engine.build_lexical_index("pg_search", shared_statistics=True)
