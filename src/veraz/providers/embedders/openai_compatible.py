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

from veraz.errors import ConfigError, MalformedResponse
from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, TextKind, Vectors
from veraz.nouns.distance import Distance
from veraz.providers.calls import Calls, Endpoint, check_address
from veraz.providers.embedders.checks import as_stored, first_degenerate, refuse_blanks

_MOST_BYTES = 512 << 20


class OpenAIOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`dimensions` is the length of the vectors; it is sent as a request for shorter ones only with
    `shorten`. With `normalise` false vectors keep the length that the server gives them, for models that were trained for inner
    products.

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
    normalise: bool = True
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

    def __init__(self, options: OpenAIOptions, *, distance: Distance = "cosine") -> None:
        _check(options)
        self._options = options
        self._measure = _Exact(Path(options.tokenizer)) if options.tokenizer else _Bytes()
        self._space = _space(options, distance)
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
        batches = [slice(start, min(start + size, len(texts))) for start in range(0, len(texts), size)]
        async with self._client() as client:
            calls = Calls(client, _endpoint(self._options))
            try:
                async with asyncio.TaskGroup() as group:
                    for batch in batches:
                        group.create_task(self._fill(calls, texts, vectors, batch))
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from None
        return vectors

    async def _fill(self, calls: Calls, texts: list[str], vectors: Vectors, batch: slice) -> None:
        content = await calls.post(self._body(texts[batch]))
        count = batch.stop - batch.start
        vectors[batch] = read_answer(content, self._options, count=count, start=batch.start)

    def _body(self, texts: list[str]) -> dict[str, object]:
        body: dict[str, object] = {"model": self._options.model, "input": texts, "encoding_format": "float"}
        if self._options.shorten:
            body["dimensions"] = self._options.dimensions
        return body

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


def read_answer(content: bytes, options: OpenAIOptions, *, count: int, start: int = 0) -> Vectors:
    """The vectors of one answer in the order of the request: float32 (count, dimensions), of length 1 unless
    `normalise` is off.

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
    position = first_degenerate(vectors if options.normalise else as_stored(vectors))
    if position is not None:
        raise _malformed(f"a vector that is zero or not finite for text {start + position}")
    return _unit(vectors) if options.normalise else vectors


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
    check_address("base_url", options.base_url)
    if options.base_url.startswith("https://api.openai.com/") and options.key() is None:
        raise ConfigError("the embedder 'openai' has no API key", fix=f"set {options.api_key_env}")


def _endpoint(options: OpenAIOptions) -> Endpoint:
    return Endpoint(
        url=options.base_url.rstrip("/") + "/embeddings",
        model=options.model,
        key=options.key(),
        timeout=options.timeout,
        max_wait=options.max_wait,
        concurrency=options.concurrency,
        most_bytes=_MOST_BYTES,
        url_name="base_url",
        key_name=options.api_key_env,
        settings_name="the embedder's options",
    )


def _space(options: OpenAIOptions, distance: Distance) -> SpaceSpec:
    slug = re.sub(r"[^a-z0-9]+", "-", options.model.lower()).strip("-")
    revision = f"@{options.revision}" if options.revision else ""
    return SpaceSpec(
        name=options.space or slug,
        provider="openai",
        model=options.model,
        dimension=options.dimensions,
        normalised=options.normalise,
        query_prefix=options.query_prefix,
        passage_prefix=options.passage_prefix,
        distance=distance,
        max_tokens=options.max_tokens,
        fingerprint=f"{options.model}{revision}/{options.dimensions}",
    )
