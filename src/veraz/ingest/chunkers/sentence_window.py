"""One sentence is searched; it is read with its neighbours, which are its `window`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec

from veraz.ingest.chunkers.context import ChunkContext, at_least, shown_as
from veraz.ingest.chunkers.cut import Unit
from veraz.ingest.chunkers.sentences import sentence_units
from veraz.ingest.chunkers.structure import Packer, Run, in_order
from veraz.nouns.corpus import Chunk, ParsedDocument, Span

NAME = "sentence-window"


class SentenceWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`sentences`: how many on each side, within the section. A list item, a table and a code block count as one sentence."""

    sentences: int = 3

    def __post_init__(self) -> None:
        at_least(NAME, "sentences", self.sentences, 0)

    @property
    def version(self) -> str:
        return f"{NAME}/1 sentences={self.sentences}"

    @property
    def pooled(self) -> bool:
        return False

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        units = sentence_units(doc, context.lang)
        made = Packer(doc, context).fit([Run((unit,)) for unit in units])
        windows = ((chunk, self._window(units, chunk)) for _, chunk in made)
        return in_order(
            shown_as(chunk, window, doc.text[window.start : window.end]) for chunk, window in windows
        )

    def _window(self, units: Sequence[Unit], chunk: Chunk) -> Span:
        at = bisect_right(units, chunk.spans[0].start, key=lambda unit: unit.start) - 1
        begin = bisect_left(units, chunk.section, key=lambda unit: unit.section)
        end = bisect_right(units, chunk.section, key=lambda unit: unit.section)
        first, last = max(begin, at - self.sentences), min(end - 1, at + self.sentences)
        return Span(units[first].start, units[last].end)
