"""Small children are searched, and their parents are read.

A parent is a section, or a piece of one that fits the parent's limit, as `structure` would cut it; a child is cut out of one
parent in the same way. `Chunk.window` is the parent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from veraz.errors import UsageError
from veraz.ingest.chunkers.context import ChunkContext, at_least, shown_as
from veraz.ingest.chunkers.cut import whole_blocks
from veraz.ingest.chunkers.structure import CHUNKER, Packer, by_section, in_order
from veraz.nouns.corpus import Chunk, ParsedDocument, Span

NAME = "parent-child"
LEAST = 16


class ParentChild(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`size`: the most tokens of a child's text; `parent`: the most of a parent's, which is never embedded."""

    size: int = 128
    parent: int = 1024

    def __post_init__(self) -> None:
        at_least(NAME, "size", self.size, LEAST)
        if self.parent < self.size:
            raise UsageError(
                f"chunker {NAME!r}: parents of {self.parent} tokens for children of {self.size}",
                fix="use a parent of at least the children's size",
            )

    @property
    def version(self) -> str:
        return f"{NAME}/2 size={self.size} parent={self.parent} {CHUNKER}"

    @property
    def pooled(self) -> bool:
        return False

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        bare = replace(context, limit=max(self.parent, context.limit), header=False)
        parents = Packer(doc, bare, size=self.parent).fit(by_section(whole_blocks(doc)))
        children = Packer(doc, context, size=self.size).fit([run for run, _ in parents])
        whole = sorted((parent for _, parent in parents), key=lambda parent: parent.spans[0].start)
        return in_order(_inside(_around(whole, child), child) for _, child in children)


def _around(parents: Sequence[Chunk], child: Chunk) -> Chunk:
    return parents[bisect_right(parents, child.spans[0].start, key=lambda parent: parent.spans[0].start) - 1]


def _inside(parent: Chunk, child: Chunk) -> Chunk:
    """As a parent that begins inside a table is shown, its header stands above it."""
    return shown_as(child, Span(parent.spans[0].start, parent.spans[-1].end), parent.display)
