"""The context writers: none, and one that asks a chat model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple

import msgspec

from veraz.ingest.context_prompt import cleaned, messages, prompt
from veraz.nouns.chat import ChatMessage
from veraz.nouns.corpus import Chunk, ParsedDocument
from veraz.providers.ports import ChatModel

_WORDS_PER_TOKEN = 0.6


class NoContext:
    @property
    def version(self) -> str:
        return ""

    def keys(self, document: ParsedDocument, chunks: Sequence[Chunk]) -> list[bytes | None]:  # noqa: ARG002
        return [None] * len(chunks)

    async def write(self, document: ParsedDocument, chunk: Chunk) -> str:  # noqa: ARG002
        return ""


class ChatContext:
    """Asks once a chunk. The model is told to stay within about `tokens`; it sees at most `window` characters of the document."""

    def __init__(self, model: ChatModel, *, tokens: int, window: int) -> None:
        self._model = model
        self._words = max(5, int(tokens * _WORDS_PER_TOKEN))
        self._window = window

    @property
    def version(self) -> str:
        return (
            f"chat {self._model.version} prompt {prompt().version} words {self._words} window {self._window}"
        )

    def keys(self, document: ParsedDocument, chunks: Sequence[Chunk]) -> list[bytes | None]:
        """Of exactly what is asked, and whom: a change elsewhere in a long document, or of its date, asks nothing anew."""
        return [self._key(document, chunk) for chunk in chunks]

    def _key(self, document: ParsedDocument, chunk: Chunk) -> bytes:
        asked = [astuple(message) for message in self._messages(document, chunk)]
        return hashlib.sha256(msgspec.json.encode([self._model.version, asked])).digest()

    def _messages(self, document: ParsedDocument, chunk: Chunk) -> tuple[ChatMessage, ...]:
        return messages(document, chunk, words=self._words, window=self._window)

    async def write(self, document: ParsedDocument, chunk: Chunk) -> str:
        answer = await self._model.complete(self._messages(document, chunk))
        return cleaned(answer.text, complete=answer.complete)
