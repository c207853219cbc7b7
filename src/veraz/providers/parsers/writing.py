"""Writing the text of a document, and keeping the places of what is in it, for formats whose text has to be made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from veraz.nouns.corpus import BlockKind, Span
from veraz.providers.parsers.grid import Grid
from veraz.providers.parsers.outline import Heading, Outline, Piece
from veraz.text.decode import storable

_SPACE = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(slots=True)
class Writer:
    """Collects text and the places of blocks in it. White space is folded as a browser shows it, except in code.

    Whole blocks: `heading`, `block`, `table`, `page`. Piece by piece: `open`, then `words`, `raw` and `line`, then `close`.
    All text given to it must be storable (see `veraz.text.decode`); `block`, `heading` and `table` see to that themselves.
    """

    parts: list[str] = field(default_factory=list)
    size: int = 0
    pieces: list[Piece] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    kind: BlockKind = "paragraph"
    level: int = 0  # of the heading being written; 0: a block
    start: int = -1  # of the open block; -1: none yet
    pending: str = ""  # white space, line break or bullet owed before the next word
    rulers: list[tuple[int, int]] = field(default_factory=list)
    repeated: list[tuple[int, int]] = field(default_factory=list)
    page_starts: list[int | None] = field(default_factory=list)  # None: nothing of the page is written yet

    def open(self, kind: BlockKind, level: int = 0) -> None:
        self.close()
        self.kind, self.level = kind, level

    def close(self) -> None:
        if self.start >= 0:
            if self.level:
                title = " ".join("".join(self._since(self.start)).split())
                self.headings.append(Heading(self.start, self.size, self.level, title))
            else:
                self.pieces.append(Piece(self.kind, self.start, self.size))
        self.kind, self.level, self.start, self.pending = "paragraph", 0, -1, ""

    def words(self, text: str) -> None:
        """Running text; its outer white space joins or parts it from its neighbours."""
        folded = _SPACE.sub(" ", text)
        inner = folded.strip(" ")
        if self.start < 0 and inner.isspace():
            return  # a hard space alone keeps lines apart
        if folded.startswith(" ") or not inner:
            self._owe_space(folded)
        if inner:
            self.raw(inner)
            self._owe_space(folded[-1:])

    def raw(self, text: str) -> None:
        """Text as it stands, in the open block."""
        if self.start < 0:
            if self.size:
                self._put("\n\n")
            self.start = self.size
            self._begin_pages()
            self.pending = self.pending.lstrip(" \n")
        if self.pending:
            self._put(self.pending)
            self.pending = ""
        self._put(text)

    def line(self, lead: str = "") -> None:
        """A new line in the open block, beginning with `lead` (an indentation, a bullet)."""
        self.pending = f"\n{lead}"

    def _owe_space(self, text: str) -> None:
        if text.startswith(" ") and not self.pending:
            self.pending = " "

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def since(self, start: int) -> str:
        """What was written from `start`, where a piece of text began."""
        return "".join(self._since(start))

    def _since(self, start: int) -> list[str]:
        size, n = self.size, len(self.parts)
        while size > start:
            n -= 1
            size -= len(self.parts[n])
        return self.parts[n:]

    # Whole blocks

    def heading(self, level: int, title: str) -> None:
        """A heading of level 1 to 9; one without a word is left out."""
        if words := " ".join(storable(title)[0].split()):
            self.open("paragraph", min(max(level, 1), 9))
            self.raw(words)
            self.close()

    def block(self, kind: BlockKind, text: str) -> None:
        """A block whose text stands as it is, without outer blank lines."""
        clean = storable(text)[0].strip("\r\n").rstrip()
        clean = clean if kind == "code" else clean.strip()
        if clean:
            self.open(kind)
            self.raw(clean)
            self.close()

    def table(self, grid: Grid, caption: str = "", breaks: Sequence[int] = ()) -> None:
        """A table, below its caption where it has one. A new page begins before each of the rows `breaks`."""
        if not (pipes := storable(grid.pipes())[0]):
            return
        self.close()
        named: Span | None = None
        if words := " ".join(storable(caption)[0].split()):
            self.open("paragraph")
            self.raw(words)
            named = Span(self.start, self.size)
            self.close()
        self.open("table")
        lines = pipes.split("\n")
        starts = [0, *(at + (grid.headers > 0 and at >= grid.headers) for at in breaks), len(lines)]
        for n, (start, end) in enumerate(pairwise(starts)):
            if n:
                self.raw("\n")
                self.page()
            self.raw("\n".join(lines[start:end]))
        self.close()
        self.pieces[-1] = Piece("table", self.pieces[-1].start, self.pieces[-1].end, named)

    def append(self, other: Outline, deeper: int = 0) -> None:
        """All that another outline holds, its headings `deeper` levels down."""
        self.close()
        if other.blank:
            return
        if self.size:
            self._put("\n\n")
        self._begin_pages()
        at = self.size
        self._put(other.text)
        for piece in other.pieces:
            caption = Span(piece.caption.start + at, piece.caption.end + at) if piece.caption else None
            self.pieces.append(Piece(piece.kind, piece.start + at, piece.end + at, caption))
        for heading in other.headings:
            level = min(heading.level + deeper, 9)
            self.headings.append(
                replace(heading, start=heading.start + at, end=heading.end + at, level=level)
            )
        self.rulers += [(start + at, end + at) for start, end in other.rulers]
        self.repeated += [(start + at, end + at) for start, end in other.repeated]

    def page(self) -> None:
        """The next page begins here, between two blocks or inside one."""
        self.page_starts.append(self.size if self.start >= 0 else None)

    def outline(self, title: str = "", warnings: tuple[str, ...] = ()) -> Outline:
        """What was written. `title` is what the format itself calls the document."""
        self.close()
        starts = tuple(self.size if start is None else start for start in self.page_starts)
        return Outline(
            "".join(self.parts),
            self.headings,
            self.pieces,
            tuple(self.rulers),
            title,
            warnings,
            starts,
            self.repeated,
        )

    def _begin_pages(self) -> None:
        for at in range(len(self.page_starts) - 1, -1, -1):
            if self.page_starts[at] is not None:
                return
            self.page_starts[at] = self.size
