"""What tests of chunking share: token counts by rule, documents from text, random Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from veraz.ingest.chunkers.context import ChunkContext, CountTokens
from veraz.ingest.chunkers.structure import Structure
from veraz.nouns.corpus import Chunk, Dropped, ParsedDocument, RawItem, Span, Vectors
from veraz.providers.parsers import parser_for

Count = Callable[[Sequence[str]], list[int]]
_TOKEN = re.compile(r"\w{1,4}|[^\w\s]")


def by_words(texts: Sequence[str]) -> list[int]:
    assert all(text.strip() for text in texts)
    return [4 + len(_TOKEN.findall(text)) for text in texts]


def by_characters(texts: Sequence[str]) -> list[int]:
    """White space costs too: unit counts then do not add up to the count of their union."""
    return [2 + (len(text) + 2) // 3 for text in texts]


def parse(text: str | bytes, media: str = "markdown", name: str = "doc") -> ParsedDocument:
    payload = text.encode() if isinstance(text, str) else text
    item = RawItem(f"{name}.x", name, media, payload=payload)  # type: ignore[arg-type]
    return parser_for(item).parse(item)


def by_bytes(texts: Sequence[str]) -> list[int]:
    """As an endpoint without a tokenizer counts."""
    return [3 + len(text.encode()) for text in texts]


def whole(doc: ParsedDocument, chunks: Sequence[Chunk], left: Sequence[Dropped]) -> str:
    """The text put together again from the spans and what was dropped; anything held twice or not at all changes it."""
    parts: list[Span | Dropped] = [*(span for chunk in chunks for span in chunk.spans), *left]
    assert all(part.start < part.end for part in parts)
    parts.sort(key=lambda part: part.start)
    at = 0
    for part in parts:
        assert part.start == at
        at = part.end
    return "".join(doc.text[part.start : part.end] for part in parts)


def letters(texts: Sequence[str]) -> Vectors:
    """Vectors that count letters: texts of like words lie close together."""
    rows = np.ones((len(texts), 32), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for character in text:
            row[ord(character) % 32] += 1
    return rows


WORDS = st.sampled_from(
    [
        "dose",
        "0.5",
        "mg",
        "1,234.5",
        "e.g.",
        "Dr.",
        "kidney",
        "is",
        "The",
        "10⁵",
        "设备。",
        "🧑‍⚕️",
        "naïve",
        "a" * 90,
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=25).map(lambda words: " ".join(words) + ".")
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=6).map(" ".join)
LIST = st.lists(SENTENCE, min_size=1, max_size=8).map(lambda items: "\n".join(f"- {item}" for item in items))
CODE = st.lists(SENTENCE, max_size=8).map(lambda rows: "```sh\n" + "\n".join(["# note", *rows]) + "\n```")
TABLE = st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=12).map(
    lambda rows: "\n".join(
        ["| Drug | Adult | Child |", "|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    )
)
HEADING = st.tuples(st.integers(1, 4), WORDS).map(lambda pair: "#" * pair[0] + " Part " + pair[1])
MARKDOWN = st.lists(st.one_of(HEADING, PARAGRAPH, LIST, CODE, TABLE), min_size=1, max_size=14).map(
    "\n\n".join
)


def chunk_document(
    doc: ParsedDocument, *, source_name: str, limit: int, count_tokens: CountTokens, lang: str
) -> tuple[Chunk, ...]:
    """By the structure chunker; arguments as in ChunkContext."""
    return Structure().chunk(doc, ChunkContext(source_name, limit, count_tokens, lang))
