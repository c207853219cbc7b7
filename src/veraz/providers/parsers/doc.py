"""Word documents of before 2007 (DOC)."""

from __future__ import annotations

from collections.abc import Iterable

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.compound import Compound
from veraz.providers.parsers.doc_file import Paragraph, WordFile
from veraz.providers.parsers.docx import leading_heading, lost_warnings
from veraz.providers.parsers.file import document, refused
from veraz.providers.parsers.grid import Cell, lay_out
from veraz.providers.parsers.writing import Writer
from veraz.text.scripts import joined

VERSION = "doc/1"

_NEAR = 20
"""Twips within which two edges of cells are one."""


def read(item: RawItem, file: Compound) -> ParsedDocument:
    word = WordFile(file)
    reader = _Reader(item, word)
    places = word.parts()
    reader.body(word.paragraphs(*places["body"]))
    reader.notes(places)
    reader.body(word.paragraphs(*places["boxes"]))
    word.lost["comments"] = sum(1 for p in word.paragraphs(*places["comments"]) if p.size)
    notes = list(lost_warnings(word.lost))
    if reader.items:
        notes.append(f"the numbers of {reader.items} list item{'s' * (reader.items > 1)} are not kept")
    return document(
        item,
        reader.out.outline(),
        VERSION,
        title=reader.title or leading_heading(reader.out),
        stated={},
        warnings=notes,
        media="doc",
    )


class _Reader:
    def __init__(self, item: RawItem, word: WordFile) -> None:
        self.item, self.word, self.out = item, word, Writer()
        self.title = self.caption = ""
        self.items = 0
        self.list: list[str] = []
        self.rows: list[tuple[list[tuple[str, bool]], Paragraph]] = []
        self.cells: list[tuple[str, bool]] = []
        self.cell: list[Paragraph] = []

    def body(self, paragraphs: Iterable[Paragraph]) -> None:
        for paragraph in paragraphs:
            if paragraph.in_table or (paragraph.ends_cell and self.cells):
                self._in_table(paragraph)
            else:
                self._end_table()
                self._paragraph(paragraph)
        self._end_table()
        self._flush()

    def notes(self, places: dict[str, tuple[int, int]]) -> None:
        """Below the text, under the numbers that their marks have there; two sorts of them share no count."""
        both = all(places[kind][0] < places[kind][1] for kind in ("footnotes", "endnotes"))
        for kind in ("footnotes", "endnotes"):
            self.word.noted = 0
            for paragraph in self.word.paragraphs(*places[kind]):
                text = _text(paragraph)
                self.out.block("paragraph", f"{kind[:-1].capitalize()}: {text}" if both and text else text)

    def _paragraph(self, paragraph: Paragraph) -> None:
        text = _text(paragraph)
        if not text:
            return
        if paragraph.in_list and not paragraph.level:
            self._caption()
            self.items += 1
            self.list.append("- " + text.replace("\n", "\n  "))
            return
        self._flush()
        if paragraph.kind == "contents":
            self.word.lost["contents"] += 1
        elif paragraph.kind == "title" and not self.title:
            self.title = " ".join(text.split())
            self.out.heading(1, text)
        elif paragraph.level:
            self.out.heading(paragraph.level, text)
        elif paragraph.kind == "caption":
            self.caption = text
        else:
            self.out.block("paragraph", text)

    def _flush(self) -> None:
        self.out.block("list", "\n".join(self.list))
        self.list.clear()
        self._caption()

    def _caption(self) -> None:
        self.out.block("paragraph", self.caption)
        self.caption = ""

    # Tables

    def _in_table(self, paragraph: Paragraph) -> None:
        if paragraph.ends_row:
            self.rows.append((self.cells, paragraph))
            self.cells, self.cell = [], []
            return
        self.cell.append(paragraph)
        if paragraph.ends_cell:
            lines = [(text, p.size == p.bold) for p in self.cell if (text := _text(p))]
            bold = bool(lines) and all(bold for _, bold in lines)
            self.cells.append(("\n".join(text for text, _ in lines), bold))
            self.cell = []

    def _end_table(self) -> None:
        if self.cell or self.cells:  # a row that is not closed
            self.cells += [(_text(p), False) for p in self.cell]
            self.rows.append((self.cells, Paragraph()))
            self.cells, self.cell = [], []
        if not self.rows:
            return
        rows, self.rows = self.rows, []
        if self.list:
            self._flush()
        caption, self.caption = self.caption, ""
        try:
            self.out.table(lay_out(_cells(rows), headers=_headers(rows)), caption)
        except ValueError as error:
            raise refused(self.item, str(error), "split the table") from None


def _text(paragraph: Paragraph) -> str:
    text = joined(paragraph.parts)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def _cells(rows: list[tuple[list[tuple[str, bool]], Paragraph]]) -> list[Cell]:
    """Columns are where cells have their edges in any row; a row without edges fills them from the left."""
    edges = _edges(rows)
    found: dict[tuple[int, int], Cell] = {}
    above: dict[int, tuple[int, int]] = {}  # by column, the cell that may go on below
    for number, (texts, end) in enumerate(rows):
        places = end.row()
        for at, (text, _) in enumerate(texts):
            left, right, merge = places[at] if at < len(places) else (0, 0, 0)
            column = _column(edges, left) if places else at
            span = max(1, _column(edges, right) - column) if places else 1
            if merge == 1 and column in above:
                cell = found[above[column]]
                found[above[column]] = Cell(cell.row, column, cell.text, number - cell.row + 1, cell.columns)
                continue
            above[column] = (number, column)
            found[number, column] = Cell(number, column, text, 1, span)
    return list(found.values())


def _edges(rows: list[tuple[list[tuple[str, bool]], Paragraph]]) -> list[int]:
    found: list[int] = []
    for edge in sorted({edge for _, end in rows for left, right, _ in end.row() for edge in (left, right)}):
        if not found or edge - found[-1] > _NEAR:
            found.append(edge)
    return found


def _column(edges: list[int], edge: int) -> int:
    return min(range(len(edges)), key=lambda n: abs(edges[n] - edge), default=0)


def _headers(rows: list[tuple[list[tuple[str, bool]], Paragraph]]) -> int:
    """The leading rows that repeat on each page; else a first row in bold over one that is not."""
    stated = next((at for at, (_, end) in enumerate(rows) if not end.is_header), len(rows))
    if stated or len(rows) < 2:
        return stated
    bold = [all(bold for text, bold in texts if text) for texts, _ in rows[:2]]
    return int(bold[0] and not bold[1])
