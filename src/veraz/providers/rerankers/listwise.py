"""A chat model that orders all passages of a question at once (listwise, Sun et al. 2023)."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

import msgspec

from veraz.errors import ConfigError
from veraz.nouns.chat import ChatMessage
from veraz.nouns.rerank import RerankScores
from veraz.providers.ports import ChatModel
from veraz.providers.rerankers.answers import malformed, scores_by_index

_LIST = re.compile(r"\[[^\[\]]*\]")


class ListwiseOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passage is cut after `characters`: all of them must fit into one question to the model."""

    characters: int = 1_500


class Listwise:
    """Implements `Reranker`. The scores are places, n for the best of n passages down to 1; passages that the model leaves out
    are not scored. `close` leaves the chat model to who opened it."""

    def __init__(self, chat: ChatModel, options: ListwiseOptions | None = None) -> None:
        self._chat = chat
        self._most = (options or ListwiseOptions()).characters
        if self._most < 1:
            raise ConfigError(f"characters is {self._most}", fix="give a positive number")

    @property
    def version(self) -> str:
        return f"listwise {_digest()} {self._most} {self._chat.version}"

    async def rerank(self, question: str, passages: Sequence[str]) -> RerankScores:
        if not passages:
            return RerankScores(())
        answer = await self._chat.complete(
            messages(question, [passage[: self._most] for passage in passages])
        )
        found = read_order(answer.text, len(passages))
        cut = tuple(place for place, passage in enumerate(passages) if len(passage) > self._most)
        return RerankScores(found.scores, cut)

    async def close(self) -> None:
        pass


def messages(question: str, passages: Sequence[str]) -> list[ChatMessage]:
    prompt = _prompt()
    shown = "".join(
        prompt["passage"].format(number=number, text=text) for number, text in enumerate(passages, 1)
    )
    user = prompt["user"].format(question=question, passages=shown)
    return [ChatMessage("system", prompt["system"].strip()), ChatMessage("user", user.strip())]


def read_order(text: str, count: int) -> RerankScores:
    """The one list of numbers in what a model said. Raises MalformedResponse where there is none or are several, and for numbers
    that are not there or come twice."""
    lists = _LIST.findall(text)
    if len(lists) != 1:
        raise malformed("the chat model", f"{len(lists)} lists of numbers where one was asked for")
    try:
        numbers = json.loads(lists[0])
    except ValueError as error:
        raise malformed("the chat model", "a list that is none of numbers") from error
    if not all(type(number) is int for number in numbers):
        raise malformed("the chat model", "a list that is none of numbers")
    placed = ((number - 1, float(count - place)) for place, number in enumerate(numbers))
    return scores_by_index("the chat model", placed, count)


@lru_cache(1)
def _text() -> str:
    return resources.files(__package__ or "").joinpath("listwise_prompt.toml").read_text(encoding="utf-8")


@lru_cache(1)
def _prompt() -> dict[str, str]:
    return tomllib.loads(_text())


def _digest() -> str:
    return hashlib.sha256(_text().encode()).hexdigest()[:12]
