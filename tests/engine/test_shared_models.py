"""What acts for somebody else shares what is open, and closing closes all of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.engine import core as engine_core


async def test_a_model_is_opened_once_for_all_that_act(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[HashingEmbedder] = []

    def opening(*_: object, **__: object) -> HashingEmbedder:
        opened.append(HashingEmbedder())
        return opened[-1]

    monkeypatch.setattr(engine_core, "open_embedder", opening)
    config = databases.config(database)
    async with await AsyncVeraz.open(config=config) as engine:
        identity = await engine.identity()
        acting = [engine.acting_as(replace(identity, subject=f"key {n}")) for n in range(4)]
        await asyncio.gather(*(one.search("zinc", lang="en", trace=False) for one in acting))
        await engine.acting_as(identity).ask("What is zinc?", lang="en")
    assert len(opened) == 1


async def test_where_one_thing_cannot_be_closed_the_others_are(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await databases.open_engine(database, HashingEmbedder())
    await put(engine, record("d", "Zinc is a metal."))

    async def broken() -> None:
        raise RuntimeError("the parsers do not end")

    plain = engine._parsers.close
    monkeypatch.setattr(engine._parsers, "close", broken)
    with pytest.raises(RuntimeError, match="do not end"):
        await engine.close()
    assert engine._database._pool.closed
    await plain()
