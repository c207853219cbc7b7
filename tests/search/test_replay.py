"""A ranking computed from candidates that were kept is the one that search returns, to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.support import databases
from tests.support.hashing import HashingEmbedder, TokenHashing
from tests.support.swept import judged_set

from veraz.config import Config, SearchConfig
from veraz.engine import AsyncVeraz
from veraz.evaluation.sweeps.grid import setting_of
from veraz.evaluation.sweeps.kept import KeptArms
from veraz.evaluation.sweeps.sets import read_sets
from veraz.nouns.evidence import SearchResult
from veraz.nouns.question import Filters
from veraz.nouns.sweep import Corpus, Owner, Setting
from veraz.search.replay import DEEPER
from veraz.sweeping import SearchBench, configured

QUESTIONS = (
    "kidney pain in a child",
    "which drug for the heart and the lung of an adult",
    "ask a doctor before any other drug, away from children",
    "zzz",
    "?",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "minmax": {"semantic_weight": 0.6},
    "minmax, lexical": {"semantic_weight": 0.1},
    "minmax, one": {"semantic_weight": 1.0},
    "rrf": {"fusion": "rrf", "semantic_weight": 0.5, "rrf_k": 10},
    "rrf, 60": {"fusion": "rrf", "semantic_weight": 0.7},
    "pool": {"pool": 7},
    "pool larger than the corpus": {"pool": 500},
    "budget": {"budget": 30, "rescored": 10, "pool": 10},
    "hits": {"k": 3},
    "hits in small pools": {"k": 5, "pool": 8},
    "one hit": {"k": 1, "pool": 8},
    "more hits than the pool": {"k": 20, "pool": 8},
    "exact": {"exact": True},
    "lexical": {"mode": "lexical", "pool": 15},
    "semantic": {"mode": "semantic", "ef_search": 10, "pool": 15},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("copies", [0, 30])
async def test_it_is_what_search_returns(database: str, tmp_path: Path, name: str, copies: int) -> None:
    folder = judged_set(tmp_path / "set", copies=copies)
    stated = dict(SETTINGS[name])
    search = SearchConfig(**{key: v for key, v in stated.items() if key in SearchConfig.__struct_fields__})
    async with await databases.open_engine(database, HashingEmbedder(), search=search) as engine:
        await engine.ingest([folder / "corpus.jsonl"], source="s")
        # the bench stands on the default configuration: what differs comes from the setting alone
        default = msgspec.structs.replace(engine.config, search=SearchConfig())

        async def load(*_: object) -> tuple[Any, bool]:
            return await engine.identity(), False

        bench = SearchBench(
            engine._database,
            default,
            await engine._open_embedder(),
            (await engine.space()).space_id,
            load=load,
            language=engine._question_lang,
        )
        base = configured(default)
        setting = setting_of({**base.search, **stated}, base.index)
        (of,) = read_sets([folder], sources=["s"])
        corpus = await bench.load(of, base.index, lambda *_: None)
        deepened = 0
        for question in QUESTIONS:
            ranked, deep = await _replayed(bench, corpus, setting, question, tmp_path)
            deepened += deep
            found = await _searched(engine, question, setting, stated)
            expected = [
                (document.external_id, hit.score, str(hit.chunk_id))
                for hit in found.hits
                for document in (hit.document, *hit.also)
            ]
            assert [(item.docid, item.score, item.chunk_id) for item in ranked] == expected
            assert found.config["pool"] == setting.pool * (DEEPER if deep else 1)
        assert deepened == 0 or copies


async def _searched(
    engine: AsyncVeraz, question: str, setting: Any, stated: Mapping[str, Any], rerank: str | None = None
) -> SearchResult:
    """k hits, or all that the pools hold where none are stated, of the set's source as in a sweep."""
    every, identity, exact = "k" not in stated, await engine.identity(), stated.get("exact", False)
    k = 2 * engine.config.search.pool if every else stated["k"]
    run = await engine._search(
        identity,
        question,
        k,
        setting.mode,
        "auto",
        Filters(sources=("s",)),
        None,
        exact,
        False,
        rerank=rerank,
        every=every,
    )
    return run.result


RERANKED: dict[str, dict[str, Any]] = {
    "all": {},
    "lexical, few": {"mode": "lexical", "k": 3},
    "fewer than the pool": {"k": 5},
    "more than the pool": {"k": 20, "semantic_weight": 0.2},
}


@pytest.mark.parametrize("name", RERANKED)
async def test_so_it_is_with_a_reranker(database: str, tmp_path: Path, name: str) -> None:
    folder = judged_set(tmp_path / "set", copies=10)
    stated = {**RERANKED[name], "reranker": "maxsim"}
    own = {key: v for key, v in stated.items() if key in SearchConfig.__struct_fields__}
    search = SearchConfig(rerank="maxsim", rerank_pool=12, **own)
    async with await databases.open_engine(database, TokenHashing(), search=search) as engine:
        await engine.ingest([folder / "corpus.jsonl"], source="s")

        async def load(*_: object) -> tuple[Any, bool]:
            return await engine.identity(), False

        bench = SearchBench(
            engine._database,
            engine.config,
            await engine._open_embedder(),
            (await engine.space()).space_id,
            load=load,
            language=engine._question_lang,
        )
        base = configured(engine.config)
        setting = setting_of({**base.search, **stated}, base.index)
        (of,) = read_sets([folder], sources=["s"])
        corpus = await bench.load(of, base.index, lambda *_: None)
        reranking = await engine._reranking("maxsim")
        assert reranking is not None
        for question in QUESTIONS:
            ranked, _ = await _replayed(bench, corpus, setting, question, tmp_path)
            ranked = await bench.rerank(reranking, question, ranked, corpus, setting)
            found = await _searched(engine, question, setting, stated, rerank="maxsim")
            expected = [
                (document.external_id, hit.score, str(hit.chunk_id))
                for hit in found.hits
                for document in (hit.document, *hit.also)
            ]
            assert [(item.docid, item.score, item.chunk_id) for item in ranked] == expected


async def test_copies_make_search_look_deeper_and_so_does_the_replay(database: str, tmp_path: Path) -> None:
    """The case above would prove little if it never came to that."""
    folder = judged_set(tmp_path / "set", copies=30)
    async with await databases.open_engine(
        database, HashingEmbedder(), search=SearchConfig(pool=8)
    ) as engine:
        await engine.ingest([folder / "corpus.jsonl"], source="s")
        found = await engine.search(QUESTIONS[2], k=5, trace=False)
        assert found.config["pool"] == 8 * DEEPER


async def _replayed(
    bench: SearchBench, corpus: Corpus, setting: Setting, question: str, folder: Path
) -> tuple[Any, bool]:
    """Through the file in which candidates are kept, so that nothing is lost there either."""
    owners: dict[UUID, Owner] = {}

    async def given(*, deep: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for arm in setting.arms:
            way = replace(arm, deeper=deep)
            path = folder / f"{arm.arm}-{deep}-{QUESTIONS.index(question)}.bin"
            kept = KeptArms(path)
            kept.forget()
            kept.keep(question, await bench.ask(corpus, way, question, {}))
            kept.close()
            again = KeptArms(path)
            owners.update(again.owners)
            asked = again.get(question)
            again.close()
            assert asked is not None
            if asked.candidates is not None:
                found[arm.arm] = asked.candidates
        return found

    ranked, deeper = bench.rank(await given(deep=False), owners, setting, deepened=False)
    if deeper:
        ranked, more = bench.rank(await given(deep=True), owners, setting, deepened=True)
        assert not more
    return ranked, deeper


def test_the_current_configuration_is_a_setting() -> None:
    base = configured(Config(search=SearchConfig(rrf_k=9)))
    assert base.differences(base.setting) == {}
    assert base.name(base.setting) == "current"
