"""Embeddings over HTTP, from OpenAI or any server that speaks its `/embeddings` call."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import httpx
import msgspec
import numpy as np

from veraz.errors import ConfigError, MalformedResponse, ProviderError, RateLimited
from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, TextKind, Vectors
from veraz.providers.embedders.checks import first_degenerate, refuse_blanks
from veraz.providers.embedders.retry import RETRIED, Backoff, parse_retry_after

_SHOWN = 300  # characters of a provider's message that an error repeats


class OpenAIOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`dimensions` is the length of the vectors; it is sent as a request for shorter ones only with
    `shorten`.

    `max_wait` bounds, in seconds, what one request spends waiting between attempts; `timeout` one attempt.
    `echoes` is the model name that the server answers with, where it differs from `model`. `revision` tells
    apart two models that a server offers under one name. `tokenizer` is the path of a `tokenizer.json`.
    """

    model: str
    dimensions: int
    base_url: str = "https://api.openai.com/v1"
    api_key: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    space: str | None = None
    revision: str = ""
    echoes: str | None = None
    shorten: bool = False
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 8191
    tokenizer: str | None = None
    batch_size: int = 64
    concurrency: int = 4
    timeout: float = 30.0
    max_wait: float = 120.0

    def __repr__(self) -> str:
        return f"OpenAIOptions(model={self.model!r}, base_url={self.base_url!r})"

    def key(self) -> str | None:
        return self.api_key or os.environ.get(self.api_key_env) or None


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Item]
    model: str | None = None


class _Measure(Protocol):
    def count(self, texts: Sequence[str]) -> list[int]: ...

    def cut(self, text: str, limit: int) -> str: ...


class OpenAICompatible:
    """Embeds by batches, several at a time; every vector is paired with its text by the answer's `index`.

    Tokens are counted by `tokenizer` if one is given. Otherwise the count is the number of UTF-8 bytes,
    which no byte-level tokenizer exceeds and which prose stays three or four times below: give the
    tokenizer to have chunks of the size that you ask for. A text above `max_tokens` is cut to it and
    reported.

    A request that fails for a passing reason (429, 5xx, a timeout, a broken connection) is sent again,
    alone: batches that were answered are not. When the server asks for a pause, all batches of the call
    observe it.
    """

    def __init__(self, options: OpenAIOptions) -> None:
        _check(options)
        self._options = options
        self._measure = _Exact(Path(options.tokenizer)) if options.tokenizer else _Bytes()
        self._space = _space(options)
        self._tls = httpx.create_ssl_context() if options.base_url.startswith("https:") else None

    def __repr__(self) -> str:
        return f"OpenAICompatible(model={self._options.model!r}, base_url={self._options.base_url!r})"

    @property
    def space(self) -> SpaceSpec:
        return self._space

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._measure.count([self._space.passage_prefix + text for text in texts])

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        """Raises RateLimited or ProviderError once the bound on waiting is reached, MalformedResponse for
        an answer that does not pair with the request, with no vectors in either case."""
        refuse_blanks(texts)
        prefix = self._space.query_prefix if kind == "query" else self._space.passage_prefix
        given = [prefix + text for text in texts]
        unique = list(dict.fromkeys(given))
        sent, too_long = self._cut(unique)
        vectors = await self._vectors(sent)
        place = {text: i for i, text in enumerate(unique)}
        truncated = tuple(i for i, text in enumerate(given) if text in too_long)
        return EmbeddingBatch(vectors[[place[text] for text in given]], truncated)

    def _cut(self, texts: list[str]) -> tuple[list[str], set[str]]:
        limit = self._space.max_tokens
        counts = self._measure.count(texts)
        too_long = {text for text, count in zip(texts, counts, strict=True) if count > limit}
        return [self._measure.cut(text, limit) if text in too_long else text for text in texts], too_long

    async def _vectors(self, texts: list[str]) -> Vectors:
        vectors = np.empty((len(texts), self._space.dimension), np.float32)
        if not texts:
            return vectors
        size = self._options.batch_size
        batches = [slice(start, start + size) for start in range(0, len(texts), size)]
        async with self._client() as client:
            call = _Call(client, self._options)
            try:
                async with asyncio.TaskGroup() as group:
                    for batch in batches:
                        group.create_task(_fill(call, texts, vectors, batch))
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from None
        return vectors

    def _client(self) -> httpx.AsyncClient:
        """A client per call: it belongs to the event loop that made it, and a caller may use several
        loops."""
        key = self._options.key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.AsyncClient(
            headers=headers,
            timeout=self._options.timeout,
            verify=self._tls if self._tls is not None else True,
        )


async def _fill(call: _Call, texts: list[str], vectors: Vectors, batch: slice) -> None:
    vectors[batch] = await call.embed(texts[batch], start=batch.start)


class _Call:
    """The requests of one `embed`, which share the limit on concurrency and the pause that a server asked
    for."""

    def __init__(self, client: httpx.AsyncClient, options: OpenAIOptions) -> None:
        self._client = client
        self._options = options
        self._url = options.base_url.rstrip("/") + "/embeddings"
        self._slots = asyncio.Semaphore(options.concurrency)
        self._paused_until = 0.0

    async def embed(self, texts: list[str], start: int) -> Vectors:
        """Vectors of one batch, float32 (texts, dimensions), of length 1. `start` is its place in the whole
        call."""
        async with self._slots:  # held while waiting too: a server that is short of room gets no new batches
            response = await self._answered(texts)
        return read_answer(response.content, self._options, count=len(texts), start=start)

    async def _answered(self, texts: list[str]) -> httpx.Response:
        backoff = Backoff(budget=self._options.max_wait)
        while True:
            await self._observe_pause()
            failure, asked = await self._attempt(texts)
            if isinstance(failure, httpx.Response) and failure.is_success:
                return failure
            wait = backoff.next_wait(asked)
            if wait is None:
                raise self._gave_up(failure, asked, backoff.attempts)
            if asked is not None:
                self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + asked)
            await asyncio.sleep(wait)

    async def _attempt(self, texts: list[str]) -> tuple[httpx.Response | httpx.TransportError, float | None]:
        """The answer or the failure worth another attempt, and the seconds that the server asked to wait."""
        try:
            response = await self._client.post(self._url, json=self._body(texts))
        except httpx.TransportError as error:
            return error, None
        if response.is_success:
            return response, None
        if response.status_code not in RETRIED:
            raise self._refused(response)
        return response, parse_retry_after(response.headers.get("retry-after"))

    async def _observe_pause(self) -> None:
        pause = self._paused_until - asyncio.get_running_loop().time()
        if pause > 0:
            await asyncio.sleep(pause)

    def _body(self, texts: list[str]) -> dict[str, object]:
        body: dict[str, object] = {"model": self._options.model, "input": texts, "encoding_format": "float"}
        if self._options.shorten:
            body["dimensions"] = self._options.dimensions
        return body

    def _gave_up(
        self, failure: httpx.Response | httpx.TransportError, asked: float | None, attempts: int
    ) -> ProviderError:
        tries = f"after {attempts} attempts and at most {self._options.max_wait:g} s of waiting"
        if isinstance(failure, httpx.TransportError):
            reason = str(failure) or type(failure).__name__
            return ProviderError(f"{self._url}: {reason}, {tries}", fix="check base_url and the network")
        what = f"{self._url} answered {failure.status_code} {tries}: {self._message(failure)}"
        if failure.status_code == 429:
            fix = "run again later, lower concurrency, or raise max_wait"
            return RateLimited(what, retry_after=asked, fix=fix)
        return ProviderError(what, fix="run again later")

    def _refused(self, response: httpx.Response) -> ProviderError:
        status = response.status_code
        fixes = {
            401: f"set {self._options.api_key_env} to a valid key",
            403: f"use a key that may call {self._options.model}",
            404: "check base_url and model",
        }
        what = f"{self._url} answered {status}: {self._message(response)}"
        return ProviderError(
            what, fix=fixes.get(status, "correct the embedder's options as the message says")
        )

    def _message(self, response: httpx.Response) -> str:
        """The provider's own words, shortened, without the key if it repeats it."""
        text = re.sub(r"\s+", " ", response.text)
        key = self._options.key()
        return (text.replace(key, "***") if key else text)[:_SHOWN] or "(no message)"


def read_answer(content: bytes, options: OpenAIOptions, *, count: int, start: int = 0) -> Vectors:
    """The vectors of one answer in the order of the request: float32 (count, dimensions), of length 1.

    Raises MalformedResponse unless the answer names the model that was asked and holds, for each index from
    0 to count − 1, exactly one vector of the right length that is finite and not zero. `start` is added to
    the positions that errors name.
    """
    try:
        answer = msgspec.json.decode(content, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _malformed(f"an answer of another form ({error})") from error
    expected = options.echoes or options.model
    if answer.model is not None and answer.model != expected:
        raise _malformed(
            f"vectors of model {answer.model!r} where {expected!r} was asked for",
            fix="correct `model`, or set `echoes` to the server's own name for the same model",
        )
    vectors = np.empty((count, options.dimensions), np.float32)
    for item in _by_index(answer.data, count):
        if len(item.embedding) != options.dimensions:
            raise _malformed(
                f"{len(item.embedding)} numbers for text {start + item.index}, not {options.dimensions}",
                fix="set `dimensions` to the length of the model's vectors",
            )
        with np.errstate(over="ignore"):  # what overflows becomes infinite and is refused below
            vectors[item.index] = np.array(item.embedding, np.float64)
    position = first_degenerate(vectors)
    if position is not None:
        raise _malformed(f"a vector that is zero or not finite for text {start + position}")
    return _unit(vectors)


def _by_index(items: list[_Item], count: int) -> list[_Item]:
    """The items, once their indices are known to be 0 … count − 1 in any order."""
    seen: set[int] = set()
    for item in items:
        if not 0 <= item.index < count:
            raise _malformed(f"index {item.index} for {count} texts")
        if item.index in seen:
            raise _malformed(f"index {item.index} twice")
        seen.add(item.index)
    if len(seen) != count:
        raise _malformed(f"{len(seen)} vectors for {count} texts")
    return items


def _malformed(what: str, fix: str = "run again; if it persists, report it") -> MalformedResponse:
    return MalformedResponse(f"the embedding server sent {what}; none of its vectors were taken", fix=fix)


def _unit(vectors: Vectors) -> Vectors:
    """In double precision, where neither tiny nor huge numbers vanish when squared."""
    wide = vectors.astype(np.float64)
    unit: Vectors = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    return unit


class _Bytes:
    """An upper bound on tokens, for want of the model's tokenizer."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) for text in texts]

    def cut(self, text: str, limit: int) -> str:
        return text.encode()[:limit].decode(errors="ignore")


class _Exact:
    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ConfigError(
                f"tokenizer {path}: {error}", fix="give the path of a tokenizer.json"
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def cut(self, text: str, limit: int) -> str:
        """The longest prefix that ends where a token ends and counts no more than `limit`."""
        ends = [end for _start, end in self._tokenizer.encode(text).offsets if end]
        keep = min(limit, len(ends))
        while keep > 1 and self.count([text[: ends[keep - 1]]])[0] > limit:
            keep -= 1
        return text[: ends[keep - 1]]


def _check(options: OpenAIOptions) -> None:
    for name in ("dimensions", "max_tokens", "batch_size", "concurrency", "timeout"):
        if getattr(options, name) <= 0:
            raise ConfigError(
                f"embedder option {name} is {getattr(options, name)}", fix=f"give a positive {name}"
            )
    if not re.match(r"https?://", options.base_url):
        raise ConfigError(
            f"base_url {options.base_url!r} is no http(s) address", fix="give it as https://host/v1"
        )
    if options.base_url.startswith("https://api.openai.com/") and options.key() is None:
        raise ConfigError("the embedder 'openai' has no API key", fix=f"set {options.api_key_env}")


def _space(options: OpenAIOptions) -> SpaceSpec:
    slug = re.sub(r"[^a-z0-9]+", "-", options.model.lower()).strip("-")
    revision = f"@{options.revision}" if options.revision else ""
    return SpaceSpec(
        name=options.space or slug,
        provider="openai",
        model=options.model,
        dimension=options.dimensions,
        normalised=True,
        query_prefix=options.query_prefix,
        passage_prefix=options.passage_prefix,
        distance="cosine",
        max_tokens=options.max_tokens,
        fingerprint=f"{options.model}{revision}/{options.dimensions}",
    )
