"""Word documents (DOCX), read as they show when every change in them is accepted.

The body is walked in reading order; headers, footers and pages are not in it: a Word file does not know its pages.
"""

from __future__ import annotations

import re
from collections import Counter

from lxml import etree

from veraz.nouns.corpus import ParsedDocument
from veraz.providers.parsers.file import document, refused
from veraz.providers.parsers.grid import lay_out
from veraz.providers.parsers.properties import read_properties
from veraz.providers.parsers.word_runs import Line, NoteMark, Runs
from veraz.providers.parsers.word_styles import Numbering, Styles, W, on, value, whole
from veraz.providers.parsers.word_tables import read_rows, row_cells, table_rows
from veraz.providers.parsers.writing import Writer
from veraz.providers.parsers.zipped import Package

VERSION = "docx/1"

_AROUND = frozenset(f"{W}{name}" for name in ("ins", "moveTo", "customXml", "sdtContent"))
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_NAMES_TABLE = re.compile(r"(?:table|tabla|tableau|tabelle|tab\.|tabella|tabela|tabel|таблица)\s*\d+", re.I)
_LOST = (
    ("comments", "{n} comment{s} left out"),
    ("deletions", "{n} tracked deletion{s} left out"),
    ("hidden", "{n} piece{s} of hidden text left out"),
    ("images", "{n} image{s} without a description left out"),
    ("charts", "{n} chart{s} left out"),
    ("diagrams", "{n} diagram{s} left out"),
    ("objects", "{n} embedded object{s} left out"),
    ("contents", "{n} line{s} of tables of contents left out"),
    ("symbols", "{n} symbol{s} of an unknown font written as U+FFFD"),
    ("chunks", "{n} embedded document{s} left out"),
    ("notes", "{n} note{s} referred to but not in the file"),
)


def read(package: Package, main: str) -> ParsedDocument:
    """The document whose own part is `main`."""
    reader = _Reader(package, main)
    body = package.xml(main).find(f"{W}body")
    if body is not None:
        reader.blocks(body)
        reader.flush()
    stated, title = read_properties(package)
    title = reader.title or title or leading_heading(reader.out)
    return document(
        package.item,
        reader.out.outline(),
        VERSION,
        title=title,
        stated=stated,
        warnings=reader.warnings(),
        media="docx",
    )


def leading_heading(out: Writer) -> str:
    """The heading that a document begins with, where no other is of its level: then it is the title."""
    first = next(iter(out.headings), None)
    if first is None or first.start or any(other.level <= first.level for other in out.headings[1:]):
        return ""
    return first.title


def lost_warnings(lost: Counter[str]) -> tuple[str, ...]:
    return tuple(words.format(n=lost[key], s="s" * (lost[key] != 1)) for key, words in _LOST if lost[key])


class _Reader:
    def __init__(self, package: Package, main: str) -> None:
        self.package, self.out = package, Writer()
        self.lost: Counter[str] = Counter()
        self.styles = Styles(self._related(main, "styles"))
        self.numbers = Numbering(self._related(main, "numbering"))
        self.runs = Runs(self.styles, self.lost)
        self.title = ""
        self.caption = ""  # of the table that follows, if one does
        self.lines: list[str] = []  # of the open list or code block
        self.kind: str = ""
        self.pending: list[NoteMark] = []
        self.inner: list[etree._Element] = []  # tables that stand in cells of another
        self.inner_count = 0
        self._notes = {kind: self._note_bodies(main, kind) for kind in ("footnote", "endnote")}
        comments = self._related(main, "comments")
        self.lost["comments"] = len(comments.findall(f"{W}comment")) if comments is not None else 0

    def _related(self, main: str, kind: str) -> etree._Element | None:
        name = self.package.related(main, kind)
        return self.package.xml(name) if name else None

    def _note_bodies(self, main: str, kind: str) -> dict[str, etree._Element]:
        root = self._related(main, f"{kind}s")
        nodes = root.iterfind(f"{W}{kind}") if root is not None else ()
        return {node.get(f"{W}id", ""): node for node in nodes}

    def warnings(self) -> tuple[str, ...]:
        return lost_warnings(self.lost)

    # Blocks

    def blocks(self, parent: etree._Element) -> None:
        for node in parent:
            if node.tag == f"{W}p":
                self._paragraph(node)
            elif node.tag == f"{W}tbl":
                self._table(node)
            elif node.tag in _AROUND:
                self.blocks(node)
            elif node.tag == f"{W}sdt":
                self._control(node)
            elif node.tag == f"{_MC}AlternateContent":
                self.blocks(next(iter(node), node))
            elif node.tag == f"{W}altChunk":
                self.lost["chunks"] += 1

    def _control(self, node: etree._Element) -> None:
        content = node.find(f"{W}sdtContent")
        if content is None or on(node.find(f"{W}sdtPr/{W}showingPlcHdr")):
            return
        if value(node, "sdtPr/docPartObj/docPartGallery") == "Table of Contents":
            self.lost["contents"] += sum(1 for _ in content.iter(f"{W}p"))
            return
        self.blocks(content)

    def _paragraph(self, node: etree._Element) -> None:
        style = value(node, "pPr/pStyle") or self.styles.default
        line = self.runs.line(node)
        label = self._label(node, style)
        if "contents" in self.styles.kinds(style):
            self.lost["contents"] += bool(line.text)
            return
        self._write(line, style, label, node)
        self.pending += line.notes
        if not self.kind:
            self._write_notes()
        for box in line.boxes:
            self.flush()
            self.blocks(box)

    def _write(self, line: Line, style: str, label: str | None, node: etree._Element) -> None:
        text, level, kinds = line.text, self._level(node, style), self.styles.kinds(style)
        if "code" in kinds or (line.is_code and label is None):
            self._collect("code", line.verbatim.rstrip())
        elif not text:
            return
        elif "title" in kinds and not self.title:
            self._whole("title", text)
        elif level:
            self._heading(level, f"{label} {text}" if label and label != "-" else text)
        elif label is not None:
            self._collect("list", _item(text, label, self._depth(node, style)))
        elif "caption" in kinds or (len(text) < 300 and _NAMES_TABLE.match(text)):
            self.flush()
            self.caption = text
        else:
            self._whole("quote" if "quote" in kinds else "paragraph", text)

    def _whole(self, kind: str, text: str) -> None:
        self.flush()
        if kind == "title":
            self.title = " ".join(text.split())
            self.out.heading(1, text)
        else:
            self.out.block("quote" if kind == "quote" else "paragraph", text)

    def _heading(self, level: int, text: str) -> None:
        self.flush()
        self.out.heading(level, text)

    def _collect(self, kind: str, line: str) -> None:
        if self.kind != kind:
            self.flush()
        self.kind = kind
        self.lines.append(line)

    def flush(self) -> None:
        """Writes what is open: a list, a code block, a caption without its table, notes."""
        if self.lines:
            self.out.block("code" if self.kind == "code" else "list", "\n".join(self.lines))
        self.lines, self.kind = [], ""
        if self.caption:
            self.out.block("paragraph", self.caption)
            self.caption = ""
        self._write_notes()

    def _write_notes(self) -> None:
        marks, self.pending = self.pending, []
        for mark in marks:
            body = self._notes[mark.kind].get(mark.id)
            if body is None:
                self.lost["notes"] += 1
                continue
            text = " ".join(filter(None, (self._text(p) for p in body.iter(f"{W}p"))))
            self.out.block("paragraph", f"{mark.label} {text}".strip() if text else "")

    def _text(self, paragraph: etree._Element) -> str:
        return self.runs.line(paragraph).text

    # Numbering and levels

    def _level(self, node: etree._Element, style: str) -> int:
        outline = value(node, "pPr/outlineLvl")
        if outline is not None:
            return level if 1 <= (level := whole(outline, 9) + 1) <= 9 else 0
        return self.styles.heading_level(style)

    def _number(self, node: etree._Element, style: str) -> tuple[str, int] | None:
        own = value(node, "pPr/numPr/numId")
        styled = self.styles.find(style, "pPr/numPr")
        number = own if own is not None else value(styled, "numId")
        if number is None or number == "0":
            return None
        level = value(node, "pPr/numPr/ilvl") or (value(styled, "ilvl") if own is None else None)
        return number, whole(level) if level is not None else self.numbers.level_of_style(number, style)

    def _label(self, node: etree._Element, style: str) -> str | None:
        found = self._number(node, style)
        return self.numbers.label(*found) if found else None

    def _depth(self, node: etree._Element, style: str) -> int:
        found = self._number(node, style)
        return min(found[1], 8) if found else 0

    # Tables

    def _table(self, node: etree._Element) -> None:
        rows = list(table_rows(node))
        cells = [cell for row in rows for cell in row_cells(row)]
        if len(cells) == 1:
            self.blocks(cells[0])  # a frame around text
            return
        if self.lines:
            self.flush()
        caption = self.caption or _description(node)
        self.caption = ""
        self._write_table(node, caption)

    def _write_table(self, node: etree._Element, caption: str) -> None:
        outer, self.inner = self.inner, []
        first = self.inner_count + 1
        found = read_rows(node, self.styles, self._cell)
        self.lost["merged"] += found.merged
        try:
            self.out.table(lay_out(found.cells, headers=found.headers), caption)
        except ValueError as error:
            raise refused(self.package.item, f"{error}", "split the table") from None
        self._write_notes()
        for number, inner in enumerate(self.inner, first):
            self._write_table(inner, f"[inner table {number}]")
        self.inner = outer

    def _cell(self, cell: etree._Element) -> tuple[str, bool]:
        """Text of a cell, its lists on lines; whether all of it is bold. A table in it is named, and written below."""
        lines: list[str] = []
        bold = True
        for node in cell.iter(f"{W}p", f"{W}tbl"):
            if _owner(node) is not cell:
                continue
            if node.tag == f"{W}tbl":
                self.inner.append(node)
                self.inner_count += 1
                lines.append(f"[inner table {self.inner_count}]")
                continue
            line = self.runs.line(node)
            style = value(node, "pPr/pStyle") or self.styles.default
            label = self._label(node, style)
            self.pending += line.notes
            if line.text:
                lines.append(f"{label} {line.text}" if label else line.text)
                bold = bold and line.is_bold
            lines += [self._text(p) for box in line.boxes for p in box.iter(f"{W}p")]
        return "\n".join(lines), bold and bool(lines)


def _item(text: str, label: str, depth: int) -> str:
    indent = "  " * depth
    return f"{indent}{label} {text}".rstrip().replace("\n", f"\n{indent}  ") if label else f"{indent}{text}"


def _description(table: etree._Element) -> str:
    return value(table, "tblPr/tblCaption") or ""


def _owner(node: etree._Element) -> etree._Element | None:
    """The cell that a paragraph or a table stands in directly; of a text box, none."""
    for above in node.iterancestors():
        if above.tag == f"{W}tc":
            return above
        if above.tag in (f"{W}txbxContent", f"{W}del"):
            return None
    return None
