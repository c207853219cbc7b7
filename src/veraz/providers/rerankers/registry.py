"""Rerankers by name, as the configuration gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from veraz.errors import ConfigError
from veraz.nouns.rerank import RERANKERS
from veraz.providers.ports import ChatModel, Embedder, Reranker

Options = TypeVar("Options", bound=msgspec.Struct)
Opener = Callable[[Mapping[str, object], Embedder | None, ChatModel | None], Reranker]
READS_TOKENS = frozenset({"maxsim"})
"""Rerankers that read with the embedder; the others need none."""


@dataclass(frozen=True, slots=True)
class OpenedReranker:
    """`weight` in 0..1: the reranker's share in the score, the fused score has the rest."""

    reranker: Reranker
    weight: float


def open_reranker(
    name: str, options: Mapping[str, object], *, embedder: Embedder | None, chat: ChatModel | None
) -> OpenedReranker:
    """The reranker called `name`, one of `RERANKERS` but "none". Those of `READS_TOKENS` need `embedder`, `llm` needs `chat`.

    Raises ConfigError for an unknown name, an unusable option, a missing key, model or extra, and UsageError for an embedder that
    shows no token vectors."""
    if name not in _OPENERS:
        raise ConfigError(f"no reranker is called {name!r}", fix=f"choose one of {', '.join(RERANKERS)}")
    usual, opener = _OPENERS[name]
    own = dict(options)
    weight = _weight(name, own.pop("weight", usual))
    try:
        return OpenedReranker(opener(own, embedder, chat), weight)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the reranker {name!r} needs the package {error.name}, which is not installed",
            fix="pip install 'veraz[local]'",
        ) from error


def _weight(name: str, stated: Any) -> float:
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        raise ConfigError(
            f"options of the reranker {name!r}: weight is {stated!r}", fix="give a number from 0 to 1"
        )
    return float(stated)


def _maxsim(options: Mapping[str, object], embedder: Embedder | None, _chat: ChatModel | None) -> Reranker:
    from veraz.providers.rerankers.maxsim import MaxSim, MaxSimOptions

    if embedder is None:
        raise ValueError("the reranker 'maxsim' reads with an embedder, and none is given")
    return MaxSim(embedder, read_options("maxsim", options, MaxSimOptions))


def _cross_encoder(
    options: Mapping[str, object], _embedder: Embedder | None, _chat: ChatModel | None
) -> Reranker:
    from veraz.providers.rerankers.cross_encoder import CrossEncoder, CrossEncoderOptions

    return CrossEncoder(read_options("cross-encoder", options, CrossEncoderOptions))


def _llm(options: Mapping[str, object], _embedder: Embedder | None, chat: ChatModel | None) -> Reranker:
    from veraz.providers.rerankers.listwise import Listwise, ListwiseOptions

    if chat is None:
        raise ConfigError(
            "the reranker 'llm' needs a chat model, and none is configured", fix="set url and model of [chat]"
        )
    return Listwise(chat, read_options("llm", options, ListwiseOptions))


def _http(name: str) -> Opener:
    def opened(
        options: Mapping[str, object], _embedder: Embedder | None, _chat: ChatModel | None
    ) -> Reranker:
        from veraz.providers.rerankers.http_api import DIALECTS, HttpOptions, HttpReranker

        dialect = DIALECTS[name]
        usual = {"url": dialect.url, "model": dialect.model}
        if "url" not in options:  # another server gets the key of this one only where that is stated
            usual["api_key_env"] = dialect.api_key_env
        return HttpReranker(dialect, read_options(name, {**usual, **options}, HttpOptions))

    return opened


_OPENERS: Mapping[str, tuple[float, Opener]] = {
    "maxsim": (0.2, _maxsim),
    "cross-encoder": (1.0, _cross_encoder),
    "cohere": (1.0, _http("cohere")),
    "voyage": (1.0, _http("voyage")),
    "jina": (1.0, _http("jina")),
    "llm": (1.0, _llm),
}


def read_options(name: str, options: Mapping[str, object], form: type[Options]) -> Options:
    try:
        return msgspec.convert(dict(options), form)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"options of the reranker {name!r}: {error}",
            fix=f"it takes weight, {', '.join(form.__struct_fields__)}",
        ) from error
