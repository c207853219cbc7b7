"""The chat adapter against a real server on loopback that misbehaves."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.support.chat_server import FakeChatServer, Question, Reply, saying

from veraz.errors import (
    ConfigError,
    MalformedResponse,
    ProviderError,
    RateLimited,
    RequestRefused,
    VerazError,
)
from veraz.nouns.chat import ChatAnswer, ChatMessage
from veraz.providers.chat.openai_compatible import ChatOptions, OpenAICompatibleChat

ASKED = (ChatMessage("system", "Be short."), ChatMessage("user", "What is it?"))


@pytest.fixture
def server() -> Iterator[FakeChatServer]:
    with FakeChatServer(lambda _: saying("It is so.")) as running:
        yield running


def options(server: FakeChatServer, **changes: Any) -> ChatOptions:
    return ChatOptions(**{"url": server.url, "model": "m", "max_wait": 0, **changes})


@pytest.fixture
async def chat(server: FakeChatServer) -> AsyncIterator[OpenAICompatibleChat]:
    opened = OpenAICompatibleChat(options(server))
    yield opened
    await opened.close()


async def asked(server: FakeChatServer, **changes: Any) -> ChatAnswer:
    chat = OpenAICompatibleChat(options(server, **changes))
    try:
        return await chat.complete(ASKED)
    finally:
        await chat.close()


async def test_what_is_sent_is_what_was_said(server: FakeChatServer) -> None:
    found = await asked(server, max_tokens=40, options={"seed": 7})
    assert found == ChatAnswer("It is so.", complete=True)
    assert server.received[0].body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "What is it?"},
        ],
        "temperature": 0.0,
        "max_tokens": 40,
        "seed": 7,
    }
    assert "authorization" not in server.received[0].headers


async def test_options_win_and_the_newer_name_of_the_limit_replaces_the_older(server: FakeChatServer) -> None:
    await asked(server, options={"max_completion_tokens": 9, "temperature": 1})
    body = server.received[0].body
    assert (body["max_completion_tokens"], body["temperature"], "max_tokens" in body) == (9, 1, False)


async def test_the_key_is_sent_and_never_repeated(
    server: FakeChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_KEY", "sk-secret")
    server.behaviour = lambda q: Reply(401, {"error": f"bad key {q.headers['authorization']}"})
    with pytest.raises(ProviderError, match=r"401.*\*\*\*[\s\S]*set CHAT_KEY") as caught:
        await asked(server, api_key_env="CHAT_KEY")
    assert "sk-secret" not in str(caught.value)
    assert server.received[0].headers["authorization"] == "Bearer sk-secret"


async def test_many_calls_share_connections_and_keep_within_the_limit(server: FakeChatServer) -> None:
    server.behaviour = lambda q: saying(q.body["messages"][-1]["content"], delay=0.05)
    chat = OpenAICompatibleChat(options(server, concurrency=3))
    try:
        said = await asyncio.gather(
            *(chat.complete((ChatMessage("user", f"number {n}"),)) for n in range(12))
        )
    finally:
        await chat.close()
    assert [a.text for a in said] == [f"number {n}" for n in range(12)]
    assert server.most_at_once == 3


async def test_a_limit_is_waited_for_as_the_server_asks(server: FakeChatServer) -> None:
    def behave(question: Question) -> Reply:
        if question.number == 0:
            return Reply(429, {"error": "slow down"}, {"Retry-After": "1"})
        return saying("At last.")

    server.behaviour = behave
    assert (await asked(server, max_wait=5)).text == "At last."
    assert server.received[1].at - server.received[0].at >= 1


async def test_a_limit_without_end_is_named(server: FakeChatServer) -> None:
    server.behaviour = lambda _: Reply(429, {"error": "no quota"}, {"Retry-After": "30"})
    began = time.monotonic()
    with pytest.raises(RateLimited, match="no quota") as caught:
        await asked(server, max_wait=2)
    assert caught.value.retry_after == 30
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("status", [500, 503, 529])
async def test_a_fault_that_passes_is_tried_again(server: FakeChatServer, status: int) -> None:
    server.behaviour = lambda q: Reply(status, {}) if q.number < 2 else saying("Back.")
    assert (await asked(server, max_wait=10)).text == "Back."
    assert len(server.received) == 3


@pytest.mark.parametrize(
    "slow",
    [saying("late", delay=3), Reply(200, b" " * 1_000, drip=0.05)],
    ids=["nothing comes", "byte by byte"],
)
async def test_an_attempt_ends_at_its_time(server: FakeChatServer, slow: Reply) -> None:
    server.behaviour = lambda _: slow
    began = time.monotonic()
    with pytest.raises(ProviderError, match=r"no answer within 0\.4 s"):
        await asked(server, timeout=0.4)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_request_that_is_not_taken_is_told_from_a_provider_that_is_away(
    server: FakeChatServer, status: int
) -> None:
    server.behaviour = lambda _: Reply(status, {"error": "too long for me"})
    with pytest.raises(RequestRefused, match="too long for me"):
        await asked(server)
    server.behaviour = lambda _: Reply(404, {"error": "no such model"})
    with pytest.raises(ProviderError, match="no such model") as caught:
        await asked(server)
    assert not isinstance(caught.value, RequestRefused)


MALFORMED: dict[str, Any] = {
    "a page": b"<html>welcome</html>",
    "no choices": {"choices": []},
    "another form": {"choices": [{"text": "old api"}]},
    "a list": [],
    "no utf-8": b"\xff\xfe{",
    "content of another kind": {"choices": [{"message": {"content": [{"type": "image"}]}}]},
    "nested too deep": b"[" * 100_000,
    "too large": b" " * (5 << 20),
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
async def test_an_answer_of_another_form_is_named_and_not_sent_again(
    server: FakeChatServer, body: Any
) -> None:
    server.behaviour = lambda _: Reply(200, body)
    with pytest.raises(MalformedResponse, match=r"/v1"):
        await asked(server)
    assert len(server.received) == 1


async def test_an_answer_that_is_no_gzip_is_malformed(server: FakeChatServer) -> None:
    server.behaviour = lambda _: Reply(200, b"plain", {"Content-Encoding": "gzip"})
    with pytest.raises(MalformedResponse, match="unpacked"):
        await asked(server)


async def test_what_postgresql_refuses_is_not_in_an_answer(server: FakeChatServer) -> None:
    text = '"a\\u0000b \\ud800 \\ud83d\\ude00 é"'
    server.behaviour = lambda _: Reply(200, f'{{"choices": [{{"message": {{"content": {text}}}}}]}}'.encode())
    assert (await asked(server)).text == "ab � 😀 é"


async def test_an_empty_answer_is_one_and_a_spent_limit_is_none(server: FakeChatServer) -> None:
    for empty in ("", None):
        server.behaviour = lambda _, empty=empty: saying(empty)  # type: ignore[misc]
        assert await asked(server) == ChatAnswer("", complete=True)
    server.behaviour = lambda _: saying("Half a sen", "length")
    assert await asked(server) == ChatAnswer("Half a sen", complete=False)
    server.behaviour = lambda _: saying("", "length")
    with pytest.raises(MalformedResponse, match=r"limit on tokens[\s\S]*raise \[chat\] max_tokens"):
        await asked(server)


async def test_a_closed_chat_opens_again(chat: OpenAICompatibleChat) -> None:
    assert (await chat.complete(ASKED)).text == "It is so."
    await chat.close()
    await chat.close()
    assert (await chat.complete(ASKED)).text == "It is so."


async def test_a_server_that_is_not_there_is_named() -> None:
    chat = OpenAICompatibleChat(ChatOptions(url="http://127.0.0.1:9/v1", model="m", max_wait=0))
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9/v1/chat/completions[\s\S]*\[chat\] url"):
        await chat.complete(ASKED)
    await chat.close()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"url": "ftp://host"}, "no http"),
        ({"url": "http://"}, "no http"),
        ({"api_key_env": "UNSET_FOR_THIS_TEST"}, "UNSET_FOR_THIS_TEST holds no key"),
        ({"options": {"stream": True}}, "options holds stream"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        OpenAICompatibleChat(ChatOptions(**{"url": "http://localhost/v1", "model": "m", **changes}))


def test_the_version_tells_models_and_settings_apart_and_not_servers_or_limits() -> None:
    def version(**changes: Any) -> str:
        given = {"url": "http://localhost/v1", "model": "m", **changes}
        return OpenAICompatibleChat(ChatOptions(**given)).version

    assert version() == version(url="http://elsewhere/v1", max_tokens=9, timeout=3, concurrency=1)
    different = [{}, {"model": "n"}, {"temperature": 0.5}, {"options": {"seed": 1}}]
    assert len({version(**changes) for changes in different}) == len(different)
    assert issubclass(RequestRefused, VerazError)
    assert json.loads(version(options={"b": 1, "a": 2}).split(" ", 1)[1]) == {
        "a": 2,
        "b": 1,
        "temperature": 0.0,
    }
