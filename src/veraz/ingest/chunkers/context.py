"""What every chunker is given, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from veraz.errors import UsageError
from veraz.nouns.corpus import Chunk, ParsedDocument, Span, Vectors

MIN_LIMIT = 24

CountTokens = Callable[[Sequence[str]], list[int]]
"""Tokens of each text as it would be embedded, prefix and special tokens included; given in batches, never a blank text."""
Embed = Callable[[Sequence[str]], Vectors]
ChunkerOptions = Mapping[str, object]
"""By name, as a configuration or a command line gives them: `{"size": 200}` or `{"size": "200"}`."""


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """`limit` is the most tokens of a chunk as embedded, header included. `lang` (ISO 639-1) guides sentence boundaries.
    Without `header` chunks have an empty contextual header. Raises UsageError for a limit below 24."""

    source_name: str
    limit: int
    count_tokens: CountTokens
    lang: str
    header: bool = True
    embed: Embed | None = None

    def __post_init__(self) -> None:
        if self.limit < MIN_LIMIT:
            raise UsageError(
                f"chunk limit of {self.limit} tokens", fix=f"use a limit of at least {MIN_LIMIT}"
            )


class Chunker(Protocol):
    @property
    def version(self) -> str:
        """Everything of the chunker itself that decides its output: "fixed/2 size=200 overlap=40". Limit, header and
        embedding space are the context's."""
        ...

    @property
    def pooled(self) -> bool:
        """Whether a chunk's vector is pooled from its whole document (`TokenEmbedder.embed_spans`): then equal texts share no
        vector."""
        ...

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        """Chunks in reading order, lossless (see `dropped`), each within the context's limit unless it is a single character."""
        ...


def shown_as(chunk: Chunk, window: Span, display: str) -> Chunk:
    """The chunk, found by its own text and read as `display`, which stands at `window`."""
    own = chunk.display if chunk.embedded is None else chunk.embedded
    return replace(chunk, window=window, display=display, embedded=None if own == display else own)


def at_least(chunker: str, option: str, value: int, least: int) -> None:
    """Raises UsageError for a smaller value."""
    if value < least:
        raise UsageError(f"chunker {chunker!r}: {option} of {value}", fix=f"use {option} of at least {least}")
