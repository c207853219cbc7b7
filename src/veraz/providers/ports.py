"""The protocols that adapters implement. At most three methods each; one contract test runs on every adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from veraz.nouns.chat import ChatAnswer, ChatMessage
from veraz.nouns.corpus import (
    Chunk,
    EmbeddingBatch,
    ParsedDocument,
    RawItem,
    SpaceSpec,
    Span,
    TextKind,
    TokenBatch,
    Vectors,
)
from veraz.nouns.lexical import EngineCandidates, EngineQuestion
from veraz.nouns.rerank import RerankScores
from veraz.nouns.scan import Picture, SeenLine

CountTokens = Callable[[Sequence[str]], Sequence[int]]
"""Tokens of each text, by the tokenizer of the model that will read it, without special tokens. The same text has the same number
each time."""


class Embedder(Protocol):
    """Turns texts into vectors of one space.

    `embed` keeps order, never receives blank texts (it raises ValueError for one), batches by length inside, and reports
    every text that it had to cut. A malformed provider answer raises MalformedResponse and yields no vectors at all.
    """

    @property
    def space(self) -> SpaceSpec: ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as it would be embedded as a passage, prefix and special tokens included."""
        ...

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch: ...


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that can also pool the token vectors of one long text over parts of it (late chunking)."""

    @property
    def gives_tokens(self) -> bool:
        """Whether the model at hand gives token vectors, and pools their mean."""
        ...

    async def embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        """One vector of the embedder's space for each group of spans of `text`: the mean of the token vectors in them.

        A text longer than the model reads is seen in windows that overlap. A span of the whole of a text that fits has the
        vector that `embed` gives that text as a passage. Raises UsageError where the model gives no token vectors."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """An embedder that shows the vectors of a text's tokens, for late interaction."""

    @property
    def gives_tokens(self) -> bool: ...

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:
        """The token vectors of each text, in its order. Raises UsageError where the model gives none."""
        ...


class Reranker(Protocol):
    """Scores passages by how well they answer a question. It sees what it is given and nothing else."""

    @property
    def version(self) -> str:
        """Everything of the model and its settings that decides a score."""
        ...

    async def rerank(self, question: str, passages: Sequence[str]) -> RerankScores:
        """One score for each passage, in order. Raises ProviderError as ChatModel does; MalformedResponse for an answer whose
        scores cannot be told apart by passage, such as one that names a passage twice or that is not there."""
        ...

    async def close(self) -> None: ...


class LexicalEngine(Protocol):
    """Another engine in the lexical arm: a full-text extension of the server, or a service elsewhere, over chunks known by their
    ids.

    What it gives are candidates and nothing more. The runtime role looks at each of them: what is not current, may not be read,
    does not meet the filters or what marks in the question demand, is dropped, so an engine need know nothing of permissions. It
    is asked again, deeper, while too little is left. Never called within a transaction."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Everything of the engine and its settings that decides a score, as far as it can be known."""
        ...

    async def best(self, question: EngineQuestion) -> EngineCandidates:
        """The best candidates for a question. Whatever it raises, and no answer in time, has Veraz's own postings answer."""
        ...

    async def close(self) -> None: ...


class Parser(Protocol):
    """Turns one raw item into a parsed document. Raises ItemError (stage "parse") naming the reason."""

    def parse(self, item: RawItem) -> ParsedDocument: ...


class DocumentParser(Protocol):
    """Parses one raw item at a time, several side by side. `parse` raises ItemError as Parser does, and for a document that
    takes more time or memory than it may."""

    async def parse(self, item: RawItem) -> ParsedDocument: ...

    async def close(self) -> None: ...


class OcrEngine(Protocol):
    """Recognises printed text in pictures, without the network. Not for threads."""

    @property
    def version(self) -> str:
        """Name of the engine and of its models: raised when the same picture may give other text."""
        ...

    def read(self, picture: Picture) -> Sequence[SeenLine]:
        """The lines of text in a picture, in no order that counts; none for a blank one. Lines that it is unsure of are given
        too, with a low confidence."""
        ...


class LanguageDetector(Protocol):
    def detect(self, text: str) -> str | None:
        """ISO 639-1 code of the language, or None where the text is too short or too mixed to tell."""
        ...

    def certain(self, text: str) -> str | None:
        """The same only where the words of a language leave no doubt: a guess would give names and codes a language."""
        ...

    def told(self, text: str) -> str | None:
        """The same for a question, where fewer words are enough; never a guess from the letters of names."""
        ...


class ChatModel(Protocol):
    """Answers a conversation. Several calls may be under way; the adapter bounds how many."""

    @property
    def version(self) -> str:
        """Everything of the model and its settings that decides what it writes, but its limit on tokens."""
        ...

    async def complete(self, messages: Sequence[ChatMessage]) -> ChatAnswer:
        """Raises RateLimited or ProviderError when the model cannot be had, RequestRefused when it does not take this
        conversation, MalformedResponse when it answers what cannot be read."""
        ...

    async def close(self) -> None: ...


class ContextWriter(Protocol):
    """Says of a chunk, in a line, what it is about and where in its document it stands: its context. The contextual header is not
    written here: it is the chunker's, and stands above the context."""

    @property
    def version(self) -> str:
        """Everything but the document that decides what is written; "" of a writer that writes nothing."""
        ...

    def keys(self, document: ParsedDocument, chunks: Sequence[Chunk]) -> list[bytes | None]:
        """For each chunk 32 bytes that stand for all that is looked at: equal keys, the same context. None: it gets none."""
        ...

    async def write(self, document: ParsedDocument, chunk: Chunk) -> str:
        """One line without line breaks, NUL, surrogates or other control characters, of any length; "" where there is nothing to
        say. Raises ProviderError as ChatModel does."""
        ...


class KeySet(Protocol):
    """The public keys of a token issuer."""

    async def key(self, kid: str) -> Mapping[str, Any] | None:
        """The JSON Web Key of that id; None where the issuer has none. Raises ProviderError when it cannot be asked."""
        ...
