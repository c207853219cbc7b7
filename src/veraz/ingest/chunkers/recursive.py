"""Text cut at the coarsest boundary that gives parts that fit (block, list item or line, sentence, word), and neighbours merged
up to the limit, whatever section they are in: the widespread recursive splitter, kept for comparison.

Headings and rulers are part of the text here. A chunk has the heading path of its start.
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from veraz.ingest.chunkers.context import ChunkContext, at_least
from veraz.ingest.chunkers.cut import Cost, Unit, trim_block
from veraz.ingest.chunkers.dropped import between_blocks
from veraz.ingest.chunkers.structure import Packer, Run, in_order
from veraz.nouns.corpus import Chunk, ParsedDocument

NAME = "recursive"
LEAST = 16


class Recursive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`size`: the most tokens of a chunk's text; without it the limit alone counts."""

    size: int | None = None

    def __post_init__(self) -> None:
        if self.size is not None:
            at_least(NAME, "size", self.size, LEAST)

    @property
    def version(self) -> str:
        return f"{NAME}/1" if self.size is None else f"{NAME}/1 size={self.size}"

    @property
    def pooled(self) -> bool:
        return False

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        units = _all_parts(doc)
        if not units:
            return ()
        packer = Packer(doc, context, size=self.size, order=Greedy)
        return in_order(chunk for _, chunk in packer.fit([Run(tuple(units))]))


class Greedy(Cost):
    """As much as fits into each chunk, from the start."""

    def best(self) -> list[tuple[int, int]]:
        bounds: list[tuple[int, int]] = []
        start = 0
        for end in range(1, len(self.units) + 1):
            if all(at != start for at, _ in self._starts(end)):
                bounds.append((start, end - 1))
                start = end - 1
        return [*bounds, (start, len(self.units))]


def _all_parts(doc: ParsedDocument) -> list[Unit]:
    """Blocks, and what stands between them, as units in reading order."""
    starts = [section.start for section in doc.sections]
    units = [Unit(b.section, b.kind, *trim_block(doc.text, b.kind, b.start, b.end)) for b in doc.blocks]
    units += [
        Unit(bisect_right(starts, part.start) - 1, "paragraph", part.start, part.end)
        for part in between_blocks(doc)
    ]
    return sorted((unit for unit in units if unit.start < unit.end), key=lambda unit: unit.start)
