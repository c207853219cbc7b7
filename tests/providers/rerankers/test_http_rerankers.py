"""Cohere, Voyage and Jina against a server that answers on loopback: how they are asked, and what is taken of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.hashing import HashingEmbedder
from tests.support.json_server import Reply
from tests.support.rerank_server import FakeRerankServer, by_length, ranked

from veraz.errors import ConfigError, MalformedResponse, ProviderError, RateLimited, RequestRefused
from veraz.nouns.rerank import RerankScores
from veraz.providers.rerankers.http_api import DIALECTS
from veraz.providers.rerankers.registry import OpenedReranker, open_reranker

KEY = "sk-very-secret"
PASSAGES = ["four", "seven letters", "x"]
NAMES = tuple(DIALECTS)


@pytest.fixture
def server() -> Iterator[FakeRerankServer]:
    with FakeRerankServer(by_length("results")) as running:
        yield running


def opened(name: str, server: FakeRerankServer | None = None, **options: Any) -> OpenedReranker:
    if server is not None:
        options = {"url": server.url, "max_wait": 0.0, **options}
    return open_reranker(name, options, embedder=HashingEmbedder(), chat=None)


async def scores(
    name: str, server: FakeRerankServer, passages: list[str] = PASSAGES, **options: Any
) -> RerankScores:
    reranker = opened(name, server, **options).reranker
    try:
        return await reranker.rerank("How many?", passages)
    finally:
        await reranker.close()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("cohere", {"top_n": 3}),
        ("voyage", {"top_k": 3, "return_documents": False, "truncation": True}),
        ("jina", {"top_n": 3, "return_documents": False}),
    ],
)
async def test_each_is_asked_as_it_wants_and_scores_go_to_their_passages(
    server: FakeRerankServer, monkeypatch: pytest.MonkeyPatch, name: str, more: dict[str, Any]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.behaviour = by_length(DIALECTS[name].results)
    found = await scores(name, server, api_key_env="MY_KEY", model="m")
    assert found == RerankScores((0.04, 0.13, 0.01))
    [asked] = server.received
    assert asked.body == {"model": "m", "query": "How many?", "documents": PASSAGES, **more}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def answering(results: Any) -> Any:
    return lambda _asked: ranked(results)


def one(index: Any, score: Any = 0.5) -> dict[str, Any]:
    return {"index": index, "relevance_score": score}


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([one(0), one(3)], "index 3 for 3 passages"),
        ([one(-1)], "index -1 for 3 passages"),
        ([one(1), one(1)], "index 1 twice"),
        ([one("1")], "in another form"),
        ([one(1.5)], "in another form"),
        ([one(0, None)], "in another form"),
        ([one(0, "0.5")], "in another form"),
        ([{"index": 0}], "in another form"),
        ("no list", "in another form"),
        (None, "in another form"),
    ],
)
async def test_an_answer_that_does_not_pair_gives_no_scores(
    server: FakeRerankServer, results: Any, reason: str
) -> None:
    server.behaviour = answering(results)
    with pytest.raises(MalformedResponse, match=reason):
        await scores("cohere", server)


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{}", b"\xff\xfe", b'{"results": [{"index": 0, "relevance_score": NaN}]}', b"[" * 100_000],
)
async def test_what_is_no_answer_at_all_gives_no_scores(server: FakeRerankServer, raw: bytes) -> None:
    server.behaviour = lambda _asked: Reply(body=raw)
    with pytest.raises(MalformedResponse):
        await scores("jina", server)


async def test_a_number_too_large_is_not_finite(server: FakeRerankServer) -> None:
    server.behaviour = lambda _asked: Reply(body=b'{"results": [{"index": 0, "relevance_score": 1e999}]}')
    with pytest.raises(MalformedResponse):
        await scores("cohere", server)


async def test_what_it_leaves_out_is_not_scored(server: FakeRerankServer) -> None:
    server.behaviour = answering([one(2, 0.9), one(0, -3)])
    assert await scores("cohere", server) == RerankScores((-3.0, None, 0.9))
    server.behaviour = answering([])
    assert await scores("cohere", server) == RerankScores((None, None, None))


async def test_a_long_passage_is_cut_and_named(server: FakeRerankServer) -> None:
    found = await scores("cohere", server, ["abcdef", "abc", "abcd"], characters=3)
    assert server.received[0].body["documents"] == ["abc", "abc", "abc"]
    assert found.truncated == (0, 2)


async def test_nothing_is_sent_for_nothing(server: FakeRerankServer) -> None:
    assert await scores("cohere", server, []) == RerankScores(())
    assert server.received == []


async def test_what_passes_is_asked_again(server: FakeRerankServer) -> None:
    fine = by_length("results")
    server.behaviour = lambda asked: Reply(status=503) if asked.number == 0 else fine(asked)
    assert (await scores("cohere", server, max_wait=5.0)).scores[1] == 0.13
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=429, body={"message": f"slow down {KEY}"}), RateLimited),
        (Reply(status=500), ProviderError),
        (Reply(status=401, body={"message": f"bad key {KEY}"}), ProviderError),
        (Reply(status=422, body={"message": "too many"}), RequestRefused),
    ],
)
async def test_a_refusal_is_an_error_that_keeps_the_key_to_itself(
    server: FakeRerankServer, monkeypatch: pytest.MonkeyPatch, reply: Reply, error: type[ProviderError]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.behaviour = lambda _asked: reply
    with pytest.raises(error) as raised:
        await scores("voyage", server, api_key_env="MY_KEY")
    assert KEY not in str(raised.value)


async def test_a_server_that_does_not_answer_is_not_waited_for(server: FakeRerankServer) -> None:
    server.behaviour = lambda _asked: ranked([], delay=1.5)
    started = asyncio.get_running_loop().time()
    with pytest.raises(ProviderError, match=r"no answer within 0\.2 s"):
        await scores("jina", server, timeout=0.2)
    assert asyncio.get_running_loop().time() - started < 1.4


@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_needed_for_the_provider_and_not_sent_elsewhere_unasked(
    server: FakeRerankServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(DIALECTS[name].api_key_env, raising=False)
    with pytest.raises(ConfigError, match="has no API key"):
        opened(name)
    monkeypatch.setenv(DIALECTS[name].api_key_env, KEY)
    assert KEY not in repr(opened(name).reranker)
    asyncio.run(scores(name, server)) if name != "voyage" else None
    assert all("authorization" not in asked.headers for asked in server.received)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "ftp://x"}, "no http"),
        ({"url": "http://x", "timeout": 0}, "timeout is 0"),
        ({"url": "http://x", "characters": 0}, "characters is 0"),
        ({"url": "http://x", "max_wait": -1}, "max_wait is -1"),
        ({"url": "http://x", "options": {"documents": []}}, "options holds documents"),
        ({"url": "http://x", "modle": "m"}, "modle"),
        ({"url": "http://x", "weight": 1.2}, "weight is 1.2"),
        ({"url": "http://x", "weight": "1"}, "weight is '1'"),
        ({"url": "http://x", "weight": True}, "weight is True"),
    ],
)
def test_options_that_cannot_be_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        opened("cohere", **options)


def test_the_weight_is_the_operators() -> None:
    assert opened("cohere", url="http://x").weight == 1.0
    assert opened("cohere", url="http://x", weight=0).weight == 0.0


def test_the_version_says_what_decides_a_score() -> None:
    def version(**options: Any) -> str:
        return opened("cohere", url="http://x", **options).reranker.version

    assert version() == version(timeout=3)
    assert len({version(), version(model="m"), version(characters=9), version(options={"a": 1})}) == 4
