"""Public failure reports about rerankers: H39 to H41. Scores go to their texts, whatever their scale and however much is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.json_server import Reply
from tests.support.rerank_server import FakeRerankServer, ranked
from tests.support.reranking import SaidReranker, scoring

from veraz.config import IngestConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import Hit
from veraz.nouns.rerank import RerankScores
from veraz.providers.rerankers.http_api import DIALECTS
from veraz.providers.rerankers.registry import OpenedReranker, open_reranker

QUESTION = "which pump part wears"
TEXTS = {
    "x": "A pump part wears: the xenon seal.",
    "y": "A pump part wears: the yellow ring, and it wears.",
    "z": "A part of a pump that seldom wears is the zinc plate.",
}


def use(engine: AsyncVeraz, reranker: SaidReranker) -> SaidReranker:
    engine._rerankers["cohere"] = OpenedReranker(reranker, 1.0)
    return reranker


def letter(text: str) -> str:
    return next(name for name, body in TEXTS.items() if body in text)


def said(hits: Sequence[Hit]) -> list[tuple[str, float | None]]:
    return [(letter(hit.body), hit.rerank.score if hit.rerank else None) for hit in hits]


async def filled(engine: AsyncVeraz) -> None:
    """X twice: its copy is folded into one hit before anybody scores."""
    await put(engine, *(record(n, TEXTS[n], title="Pumps") for n in TEXTS))
    await put(engine, record("x2", TEXTS["x"], title="Pumps"))


async def test_h39_each_text_keeps_the_score_that_it_was_given(engine: AsyncVeraz) -> None:
    await filled(engine)
    given = {"z": 0.9, "y": 0.5, "x": 0.1}
    reranker = use(engine, scoring(lambda passage: given[letter(passage)]))
    found = await engine.search(QUESTION, lang="en", rerank="cohere")
    assert said(found.hits) == [("z", 0.9), ("y", 0.5), ("x", 0.1)]
    assert sorted(letter(p) for _, passages in reranker.asked for p in passages) == ["x", "y", "z"]
    [x] = [hit for hit in found.hits if letter(hit.body) == "x"]
    assert {x.document.external_id, *(d.external_id for d in x.also)} == {"x", "x2"}


@pytest.mark.parametrize("name", ["cohere", "voyage", "jina"])
async def test_h39_an_answer_in_order_of_relevance_is_put_back_by_its_indices(
    engine: AsyncVeraz, name: str
) -> None:
    """A server that answers best first, with indices into what was sent, which is not the order of the hits."""
    await filled(engine)
    given = {"z": 0.9, "y": 0.5, "x": 0.1}

    def answer(body: Mapping[str, Any]) -> Reply:
        scores = [given[letter(text)] for text in body["documents"]]
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        results = [{"index": place, "relevance_score": scores[place]} for place in order]
        return ranked(results, DIALECTS[name].results)

    with FakeRerankServer(lambda asked: answer(asked.body)) as server:
        opened = open_reranker(name, {"url": server.url, "max_wait": 0.0}, embedder=None, chat=None)
        engine._rerankers["cohere"] = opened
        found = await engine.search(QUESTION, lang="en", rerank="cohere")
    assert said(found.hits) == [("z", 0.9), ("y", 0.5), ("x", 0.1)]


SCALES: Mapping[str, Mapping[str, float]] = {
    "logits": {"z": -1.2, "y": -9.0, "x": -11.0},
    "calibrated": {"z": 0.93, "y": 0.02, "x": 0.01},
    "large": {"z": 4000.0, "y": 3999.0, "x": -7.0},
}


async def test_h40_the_scale_of_a_reranker_decides_nothing(engine: AsyncVeraz) -> None:
    """No score is compared with a fixed bound: the order is that of the scores, whether the evidence suffices is not read off
    them, and what was given is shown as it was given."""
    await filled(engine)
    seen = []
    for given in SCALES.values():
        use(engine, scoring(given_by(given)))
        found = await engine.search(QUESTION, lang="en", rerank="cohere")
        assert said(found.hits) == list(given.items())
        assert [hit.score for hit in found.hits] == sorted((h.score for h in found.hits), reverse=True)
        assert all(0 <= hit.score <= 1 for hit in found.hits)
        answer = await engine.ask(QUESTION, lang="en", rerank="cohere")
        seen.append((found.sufficiency, answer.outcome))
    assert len(set(seen)) == 1


def given_by(scores: Mapping[str, float]) -> Callable[[str], float]:
    return lambda passage: scores[letter(passage)]


READ = 200
"""Words that the reranker of the next test reads."""
ANSWER = "The override valve of the zephyr boiler is opened with key number seventeen."


def cutting() -> SaidReranker:
    """Scores by shared words among the first `READ` ones, and says of longer passages that it cut them."""

    async def answer(question: str, passages: Sequence[str]) -> RerankScores:
        wanted = set(re.findall(r"\w+", question.lower()))
        words = [re.findall(r"\w+", passage.lower()) for passage in passages]
        scores = tuple(float(len(wanted & set(found[:READ]))) for found in words)
        return RerankScores(scores, tuple(n for n, found in enumerate(words) if len(found) > READ))

    return SaidReranker(answer)


@pytest.mark.parametrize("fits", [True, False])
async def test_h41_an_answer_at_the_end_of_a_long_passage(database: str, fits: bool) -> None:
    """Chunks that are cut to what the reranker reads lose nothing. Where one is longer, the trace counts what was cut."""
    filler = " ".join(f"Remark {n} of the manual says little about the plant." for n in range(45))
    long = f"{filler} {ANSWER}"
    loose = " ".join(f"A boiler has a valve, and part {n} is opened now and then." for n in range(12))
    assert len(long.split()) > 400
    assert 100 < len(loose.split()) < READ
    ingest = IngestConfig(isolated=False, chunk_tokens=READ - 20 if fits else 512)
    async with await databases.open_engine(database, ingest=ingest) as engine:
        await put(engine, record("long", long), record("loose", loose))
        use(engine, cutting())
        question = "which key opens the override valve of the zephyr boiler"
        found = await engine.search(question, lang="en", rerank="cohere")
        trace = await engine.explain_trace(str(found.trace_id))
    assert found.config["rerank"]["truncated"] == trace["config"]["rerank"]["truncated"] == (0 if fits else 1)
    if fits:
        assert ANSWER in found.hits[0].body
