"""Rerankers over HTTP: Cohere, Voyage and Jina, or any server that speaks the call of one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from veraz.errors import ConfigError
from veraz.nouns.rerank import RerankScores
from veraz.providers.calls import Endpoint, KeptCalls, check_address
from veraz.providers.rerankers.answers import malformed, scores_by_index

_MOST_BYTES = 8 << 20


class HttpOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`url`: the server's base, of which the call is `/rerank`; `model`: its name there. `api_key_env` names the variable that
    holds the key; with a `url` of one's own none is sent unless it is stated. `timeout` bounds one attempt and `max_wait` what
    a request waits between attempts, in seconds; `concurrency` requests are under way at once. A passage is cut after
    `characters`: what is sent is paid for. `options` are added to each request, over what stands there."""

    model: str
    url: str = ""
    api_key_env: str = ""
    timeout: float = 5.0
    max_wait: float = 4.0
    concurrency: int = 4
    characters: int = 8_000
    options: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a provider wants to be asked. `body` makes the request of model, question and passages; `results` is the key of the
    answer's list, each entry with `index` and `relevance_score`."""

    name: str
    url: str
    model: str
    api_key_env: str
    results: str
    body: Callable[[str, str, Sequence[str]], dict[str, Any]]


def _cohere(model: str, question: str, passages: Sequence[str]) -> dict[str, Any]:
    return {"model": model, "query": question, "documents": list(passages), "top_n": len(passages)}


def _voyage(model: str, question: str, passages: Sequence[str]) -> dict[str, Any]:
    return {
        "model": model,
        "query": question,
        "documents": list(passages),
        "top_k": len(passages),
        "return_documents": False,
        "truncation": True,
    }


def _jina(model: str, question: str, passages: Sequence[str]) -> dict[str, Any]:
    return {
        "model": model,
        "query": question,
        "documents": list(passages),
        "top_n": len(passages),
        "return_documents": False,
    }


DIALECTS: Mapping[str, Dialect] = {
    "cohere": Dialect(
        "cohere", "https://api.cohere.com/v2", "rerank-v3.5", "COHERE_API_KEY", "results", _cohere
    ),
    "voyage": Dialect(
        "voyage", "https://api.voyageai.com/v1", "rerank-2.5", "VOYAGE_API_KEY", "data", _voyage
    ),
    "jina": Dialect(
        "jina",
        "https://api.jina.ai/v1",
        "jina-reranker-v2-base-multilingual",
        "JINA_API_KEY",
        "results",
        _jina,
    ),
}


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class HttpReranker:
    """Implements `Reranker`. One request for all passages, over connections that are kept; `close` ends them. Belongs to one
    event loop. The key is read when the reranker is opened, and stands in no message."""

    def __init__(self, dialect: Dialect, options: HttpOptions) -> None:
        _check(dialect, options)
        self._dialect = dialect
        self._options = options
        self._endpoint = _endpoint(dialect, options)
        self._calls = KeptCalls(self._endpoint)

    def __repr__(self) -> str:
        return (
            f"HttpReranker({self._dialect.name}, model={self._options.model!r}, url={self._endpoint.url!r})"
        )

    @property
    def version(self) -> str:
        more = msgspec.json.encode(self._options.options, order="deterministic").decode()
        said = "" if more == "{}" else f" {more}"
        return f"{self._dialect.name} {self._options.model} {self._options.characters}{said}"

    async def rerank(self, question: str, passages: Sequence[str]) -> RerankScores:
        if not passages:
            return RerankScores(())
        most = self._options.characters
        sent = [passage[:most] for passage in passages]
        body = {**self._dialect.body(self._options.model, question, sent), **self._options.options}
        content = await self._calls.post(body)
        found = read_answer(content, self._dialect, self._endpoint.url, len(passages))
        cut = tuple(place for place, passage in enumerate(passages) if len(passage) > most)
        return RerankScores(found.scores, cut)

    async def close(self) -> None:
        await self._calls.close()


def read_answer(content: bytes, dialect: Dialect, url: str, count: int) -> RerankScores:
    """Of `count` passages. Raises MalformedResponse for an answer of another form, or whose indices do not pair."""
    try:
        answer = msgspec.json.decode(content, type=dict[str, Any])
        results = msgspec.convert(answer.get(dialect.results), list[_Result])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(url, f"in another form ({str(error)[:200]})") from error
    return scores_by_index(url, ((one.index, one.relevance_score) for one in results), count)


def _key(options: HttpOptions) -> str | None:
    return (os.environ.get(options.api_key_env) or None) if options.api_key_env else None


def _check(dialect: Dialect, options: HttpOptions) -> None:
    where = f"[rerank.options.{dialect.name}]"
    check_address(f"{where} url", options.url)
    for name in ("timeout", "concurrency", "characters"):
        if getattr(options, name) <= 0:
            raise ConfigError(f"{where} {name} is {getattr(options, name)}", fix=f"give a positive {name}")
    if options.max_wait < 0:
        raise ConfigError(f"{where} max_wait is {options.max_wait}", fix="give 0 or more")
    if taken := sorted({"query", "documents"} & options.options.keys()):
        raise ConfigError(f"{where} options holds {', '.join(taken)}", fix="leave it out")
    if options.url == dialect.url and _key(options) is None:
        raise ConfigError(f"the reranker {dialect.name!r} has no API key", fix=f"set {options.api_key_env}")


def _endpoint(dialect: Dialect, options: HttpOptions) -> Endpoint:
    where = f"[rerank.options.{dialect.name}]"
    return Endpoint(
        url=options.url.rstrip("/") + "/rerank",
        model=options.model,
        key=_key(options),
        timeout=options.timeout,
        max_wait=options.max_wait,
        concurrency=options.concurrency,
        most_bytes=_MOST_BYTES,
        url_name=f"{where} url",
        key_name=options.api_key_env or f"{where} api_key_env",
        settings_name=where,
    )
