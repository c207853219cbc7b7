"""Chat over HTTP, with OpenAI or any server that speaks its `/chat/completions` call."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from veraz.errors import ConfigError, MalformedResponse
from veraz.nouns.chat import ChatAnswer, ChatMessage
from veraz.providers.calls import Endpoint, KeptCalls, check_address
from veraz.text.decode import storable

_MOST_BYTES = 4 << 20


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`url` is the server's base, such as https://api.openai.com/v1. No key is sent unless `api_key_env` names the variable that
    holds one. `options` are added to every request, over what stands there: `{"max_completion_tokens": 500}`.

    `timeout` bounds one attempt and `max_wait` what one request spends waiting between attempts, in seconds."""

    url: str
    model: str
    api_key_env: str = ""
    max_tokens: int = 512
    temperature: float = 0.0
    timeout: float = 60.0
    max_wait: float = 120.0
    concurrency: int = 4
    options: Mapping[str, Any] = {}

    def key(self) -> str | None:
        return (os.environ.get(self.api_key_env) or None) if self.api_key_env else None


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]


class OpenAICompatibleChat:
    """Several calls at a time, over connections that are kept; `close` ends them. Belongs to one event loop."""

    def __init__(self, options: ChatOptions) -> None:
        _check(options)
        self._options = options
        self._calls = KeptCalls(_endpoint(options))

    def __repr__(self) -> str:
        return f"OpenAICompatibleChat(model={self._options.model!r}, url={self._options.url!r})"

    @property
    def version(self) -> str:
        options = self._options
        settings = {"temperature": options.temperature, **options.options}
        return f"{options.model} {json.dumps(settings, sort_keys=True)}"

    async def complete(self, messages: Sequence[ChatMessage]) -> ChatAnswer:
        content = await self._calls.post(self._body(messages))
        return read_answer(content, self._options.url)

    async def close(self) -> None:
        await self._calls.close()

    def _body(self, messages: Sequence[ChatMessage]) -> dict[str, Any]:
        options = self._options
        limit = "max_completion_tokens"  # newer models of OpenAI know this name alone
        named = {} if limit in options.options else {"max_tokens": options.max_tokens}
        said = [asdict(message) for message in messages]
        return {
            "model": options.model,
            "messages": said,
            "temperature": options.temperature,
            **named,
            **options.options,
        }


def read_answer(content: bytes, url: str) -> ChatAnswer:
    """What the model said. A refusal of the model's own, without content, is an empty answer. Raises MalformedResponse for an
    answer of another form, and for one that has no text because the limit on tokens came first."""
    try:
        # json, unlike msgspec, reads lone surrogates, which models cut in the middle of a character do write
        answer = msgspec.convert(json.loads(content), _Answer)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise _malformed(url, f"an answer of another form ({str(error)[:200]})") from error
    if not answer.choices:
        raise _malformed(url, "an answer without choices")
    choice = answer.choices[0]
    text, _ = storable(choice.message.content or "")
    complete = choice.finish_reason != "length"
    if not complete and not text.strip():
        raise MalformedResponse(
            f"{url}: the limit on tokens was reached before the model answered",
            fix="raise [chat] max_tokens: a model that thinks first spends them on that",
        )
    return ChatAnswer(text, complete)


def _malformed(url: str, what: str) -> MalformedResponse:
    return MalformedResponse(
        f"{url}: {what}", fix="check [chat] url: it must speak OpenAI's /chat/completions"
    )


def _check(options: ChatOptions) -> None:
    check_address("[chat] url", options.url)
    if options.api_key_env and options.key() is None:
        raise ConfigError(f"[chat] the variable {options.api_key_env} holds no key", fix="set it")
    if taken := sorted({"model", "messages", "stream", "n"} & options.options.keys()):
        raise ConfigError(f"[chat] options holds {', '.join(taken)}", fix="leave it out")


def _endpoint(options: ChatOptions) -> Endpoint:
    return Endpoint(
        url=options.url.rstrip("/") + "/chat/completions",
        model=options.model,
        key=options.key(),
        timeout=options.timeout,
        max_wait=options.max_wait,
        concurrency=options.concurrency,
        most_bytes=_MOST_BYTES,
        url_name="[chat] url",
        key_name=options.api_key_env or "[chat] api_key_env",
        settings_name="[chat]",
    )
