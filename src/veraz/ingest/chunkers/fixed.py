"""Windows of a fixed number of tokens over the text, which overlap: the simplest chunker, kept for comparison.

Headings and rulers are part of the text, and sections are not respected; a chunk has the heading path of its start. Windows
begin and end between words (in text without spaces between characters), never inside a number that fits one, nor between a
number and its unit.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from veraz.errors import UsageError
from veraz.ingest.chunkers.context import ChunkContext, at_least
from veraz.ingest.chunkers.cut import cut_point, joins, parts_quantity
from veraz.ingest.chunkers.structure import counted, headers, in_order, nothing_fits, page_of
from veraz.nouns.corpus import BlockKind, Chunk, ParsedDocument, Span
from veraz.text.lines import trim

NAME = "fixed"
_WORD = re.compile(r"\S+")
_GRAIN = 8
"""Words of up to this many tokens are never cut while windows hold them."""


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`size`: tokens of a window, summed over its words; `overlap`: how many of them the next window repeats."""

    size: int = 256
    overlap: int = 32

    def __post_init__(self) -> None:
        at_least(NAME, "size", self.size, 1)
        at_least(NAME, "overlap", self.overlap, 0)
        if self.overlap >= self.size:
            raise UsageError(
                f"chunker {NAME!r}: an overlap of {self.overlap} in windows of {self.size} tokens never advances",
                fix=f"use an overlap of at most {self.size - 1}, or a larger size",
            )

    @property
    def version(self) -> str:
        return f"{NAME}/2 size={self.size} overlap={self.overlap}"

    @property
    def pooled(self) -> bool:
        return False

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        frame = _Frame(doc, context)
        words = _words(doc.text, self._grain(frame), frame)
        slack = 0
        # The tokens of words only estimate those of a window: where some come out too long, all are laid out with less room.
        while slack < context.limit:
            chunks = frame.chunks(self._windows(doc.text, words, frame, slack))
            if all(chunk.token_count <= context.limit for chunk in chunks):
                return in_order(chunks)
            slack = max(4, 2 * slack)
        return in_order(_outermost(frame.halved(chunks)))

    def _grain(self, frame: _Frame) -> int:
        """The most tokens of a word; longer ones are cut, so that windows can overlap inside them."""
        step = min(self.overlap or self.size, self.size - self.overlap)
        return max(1, min(self.size, frame.least_room, max(_GRAIN, step // 4)))

    def _windows(self, text: str, words: Sequence[_Word], frame: _Frame, slack: int) -> Iterator[Span]:
        start = reached = 0
        while reached < len(words):
            room = max(1, min(self.size, frame.room(words[start].start) - slack))
            end = _untied(text, words, start, _fill(words, start, room))
            if end <= reached:  # a longer header leaves less room: nothing new would be in this window
                start += 1
                continue
            yield Span(words[start].start, words[end - 1].end)
            reached = end
            start = _untied(text, words, start, _back(words, start + 1, end, self.overlap))


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    tokens: int


class _Frame:
    """A document's headers and counts, and the chunks made of spans of its text."""

    def __init__(self, doc: ParsedDocument, context: ChunkContext) -> None:
        self.doc, self.limit, self._count = doc, context.limit, context.count_tokens
        self._headers = headers(doc, context)
        one, two = context.count_tokens(["a", "a a"])
        self._fixed = max(0, 2 * one - two)  # prefix and special tokens
        if self._fixed >= self.limit:
            raise nothing_fits(self.limit)
        self._sections = [section.start for section in doc.sections]
        self._blocks = [block.start for block in doc.blocks]
        self.least_room = min(self.room(at) for at in self._sections)

    def room(self, at: int) -> int:
        """Tokens for the text of a chunk that begins at `at`."""
        return max(1, self.limit - max(self._fixed, self._headers[self._section(at)][1]))

    def counts(self, texts: Sequence[str]) -> dict[str, int]:
        distinct = list(dict.fromkeys(texts))
        counts = self._count(distinct) if distinct else []
        return {text: max(1, tokens - self._fixed) for text, tokens in zip(distinct, counts, strict=True)}

    def chunks(self, spans: Iterable[Span]) -> list[Chunk]:
        return counted([self._chunk(span) for span in spans], self._count)

    def halved(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """The chunks, those above the limit cut until they fit or are a single character."""
        done: list[Chunk] = []
        while chunks:
            longer: list[Span] = []
            for chunk in chunks:
                if chunk.token_count <= self.limit or len(chunk.body) == 1:
                    done.append(chunk)
                else:
                    longer += _halves(self.doc.text, chunk.spans[0])
            chunks = self.chunks(longer)
        return done

    def _section(self, at: int) -> int:
        return bisect_right(self._sections, at) - 1

    def _chunk(self, span: Span) -> Chunk:
        section = self.doc.sections[self._section(span.start)]
        body = self.doc.text[span.start : span.end]
        header = self._headers[section.ord][0]
        page = page_of(self.doc, span.start)
        return Chunk(
            0, section.ord, section.heading_path, self._kind(span), body, body, header, 0, (span,), page
        )

    def _kind(self, span: Span) -> BlockKind:
        """That of the block that fills most of the span."""
        first = max(0, bisect_right(self._blocks, span.start) - 1)
        last = bisect_right(self._blocks, span.end - 1)
        blocks = self.doc.blocks[first:last]
        largest = max(blocks, key=lambda b: min(b.end, span.end) - max(b.start, span.start), default=None)
        return "paragraph" if largest is None else largest.kind


def _words(text: str, grain: int, frame: _Frame) -> list[_Word]:
    """The words of a text with their tokens, those above `grain` tokens cut until they are not."""
    done: list[_Word] = []
    todo = [Span(found.start(), found.end()) for found in _WORD.finditer(text)]
    while todo:
        counts = frame.counts([text[word.start : word.end] for word in todo])
        longer: list[Span] = []
        for word in todo:
            tokens = counts[text[word.start : word.end]]
            if tokens <= grain or word.end - word.start == 1:
                done.append(_Word(word.start, word.end, tokens))
            else:
                longer += _pieces(text, word, -(-tokens // grain))
        todo = longer
    return sorted(done, key=lambda word: word.start)


def _pieces(text: str, word: Span, count: int) -> Iterator[Span]:
    """About `count` pieces of a word, at least two."""
    size = max(1, (word.end - word.start) // max(2, count))
    start = word.start
    while word.end - start > size:
        at, _ = cut_point(text, start, start + size, word.end)
        yield Span(start, at)
        start = at
    if start < word.end:
        yield Span(start, word.end)


def _outermost(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Without those whose span lies in that of another one: windows that overlap have halves in common."""
    kept: list[Chunk] = []
    for chunk in sorted(chunks, key=lambda chunk: (chunk.spans[0].start, -chunk.spans[0].end)):
        if not kept or chunk.spans[0].end > kept[-1].spans[0].end:
            kept.append(chunk)
    return kept


def _halves(text: str, span: Span) -> list[Span]:
    middle, _ = cut_point(text, span.start, (span.start + span.end) // 2, span.end)
    halves = [Span(*trim(text, span.start, middle)), Span(*trim(text, middle, span.end))]
    return [half for half in halves if half.start < half.end]


def _fill(words: Sequence[_Word], start: int, room: int) -> int:
    """Where a window that begins with word `start` ends: at least one word on."""
    end, total = start + 1, words[start].tokens
    while end < len(words) and total + words[end].tokens <= room:
        total += words[end].tokens
        end += 1
    return end


def _back(words: Sequence[_Word], least: int, end: int, overlap: int) -> int:
    """The first word, from `least`, from which the words up to `end` have at most `overlap` tokens."""
    start, total = end, 0
    while start > least and total + words[start - 1].tokens <= overlap:
        start -= 1
        total += words[start].tokens
    return start


def _untied(text: str, words: Sequence[_Word], after: int, at: int) -> int:
    """The last place up to `at`, and behind word `after`, where no number is cut; `at` when there is none."""
    place = at
    while place > after + 1 and place < len(words) and _tied(text, words[place - 1], words[place]):
        place -= 1
    tied = place < len(words) and _tied(text, words[place - 1], words[place])
    return at if tied else place


def _tied(text: str, left: _Word, right: _Word) -> bool:
    """Parts of one quantity: "1 000", "5 mg", or a number that had to be cut."""
    between = joins if left.end == right.start else parts_quantity
    return between(text[left.end - 1], text[right.start])
