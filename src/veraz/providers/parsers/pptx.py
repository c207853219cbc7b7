"""Presentations (PPTX): a slide is a section and a page; its text, tables, diagrams and notes in the order of its reading.

That order is the one of the file, which screen readers follow too, with the title first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lxml import etree

from veraz.nouns.corpus import ParsedDocument
from veraz.providers.parsers.equation import M, linear
from veraz.providers.parsers.file import document, refused
from veraz.providers.parsers.grid import Cell, lay_out
from veraz.providers.parsers.properties import read_properties
from veraz.providers.parsers.word_styles import figure, whole
from veraz.providers.parsers.writing import Writer
from veraz.providers.parsers.zipped import Package
from veraz.text.scripts import Script, joined

VERSION = "pptx/1"

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr"})
_BODIES = frozenset({"body", "obj"})
_MAX_SPAN = 100
_NUMBERS = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}


def read(package: Package, main: str) -> ParsedDocument:
    reader = _Reader(package)
    reader.slides(main)
    stated, title = read_properties(package)
    made = reader.out.outline()
    if not reader.written:
        made = Writer().outline()  # headings that only count slides are no content
    return document(
        package.item,
        made,
        VERSION,
        title=title or reader.title,
        stated=stated,
        warnings=reader.warnings(),
        media="pptx",
    )


class _Reader:
    def __init__(self, package: Package) -> None:
        self.package, self.out = package, Writer()
        self.lost: Counter[str] = Counter()
        self.hidden: list[int] = []
        self.title = ""
        self.written = False

    def warnings(self) -> tuple[str, ...]:
        hidden = (
            [f"hidden slide{'s' * (len(self.hidden) > 1)} {_listed(self.hidden)} left out"]
            if self.hidden
            else []
        )
        return (
            *hidden,
            *(f"{n} {what.format(s='s' * (n != 1))} left out" for what, n in self.lost.items() if n),
        )

    def slides(self, main: str) -> None:
        relations = self.package.relations(main)
        nodes = self.package.xml(main).iterfind(f"{P}sldIdLst/{P}sldId")
        parts = [relations[r].target for node in nodes if (r := node.get(_R_ID, "")) in relations]
        for number, part in enumerate(parts, 1):
            self.out.page()
            root = self.package.xml(part)
            if root.get("show") in ("0", "false"):
                self.hidden.append(number)
            else:
                self._slide(part, root, number)

    def _slide(self, part: str, root: etree._Element, number: int) -> None:
        shapes = list(_shapes(root.find(f"{P}cSld/{P}spTree")))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(filter(None, (" ".join(_text(t).split()) for t in titles)))
        self.out.heading(1, title or f"Slide {number}")
        self.title = self.title or title
        self.written = self.written or bool(title)
        before = len(self.out.pieces)
        for shape in shapes:
            if shape not in titles and _placeholder(shape) not in _FURNITURE:
                self._shape(shape)
        for relation in self.package.relations(part).values():
            self._related(relation.kind, relation.target)
        self.written = self.written or len(self.out.pieces) > before

    def _related(self, kind: str, target: str) -> None:
        if kind == "notesSlide" and target in self.package:
            tree = self.package.xml(target).find(f"{P}cSld/{P}spTree")
            bodies = [shape for shape in _shapes(tree) if _placeholder(shape) == "body"]
            text = "\n".join(filter(None, map(_text, bodies)))
            self.out.block("paragraph", f"Notes: {text}" if text.strip() else "")
        elif kind == "diagramData" and target in self.package:
            points = self.package.xml(target).iter(f"{_DIAGRAM}t")
            self.out.block(
                "list", "\n".join(f"- {words}" for point in points if (words := _inline_all(point)))
            )
        elif kind in ("chart", "chartEx"):
            self.lost["chart{s}"] += 1
        elif kind in ("comments", "comment"):
            self.lost["comment thread{s}"] += 1
        elif kind in ("oleObject", "package", "video", "audio"):
            self.lost["embedded object{s}"] += 1

    def _shape(self, shape: etree._Element) -> None:
        if shape.tag == f"{P}graphicFrame":
            for table in shape.iter(f"{A}tbl"):
                self._table(table)
        elif shape.tag == f"{P}pic":
            self._picture(shape)
        elif (body := shape.find(f"{P}txBody")) is not None:
            self._body(body, _placeholder(shape) in _BODIES)

    def _picture(self, shape: etree._Element) -> None:
        named = shape.find(f"{P}nvPicPr/{P}cNvPr")
        described = " ".join((named.get("descr") or "").split()) if named is not None else ""
        self.lost["image{s} without a description"] += not described
        self.out.block("paragraph", f"[Image: {described}]" if described else "")

    def _body(self, body: etree._Element, bulleted: bool) -> None:
        """Paragraphs, those with bullets or numbers as lists; in a body of several, each is a point unless it says otherwise."""
        paragraphs = [(p, text) for p in body.iterfind(f"{A}p") if (text := _inline(p))]
        bulleted = bulleted and len(paragraphs) > 1
        lines: list[str] = []
        counts: dict[int, int] = {}
        for paragraph, text in paragraphs:
            label = _label(paragraph, bulleted, counts)
            if not label:
                self._list(lines)
                self.out.block("paragraph", text)
                continue
            indent = "  " * min(_level(paragraph), 8)
            lines.append(f"{indent}{label} {text}".replace("\n", f"\n{indent}  "))
        self._list(lines)

    def _list(self, lines: list[str]) -> None:
        self.out.block("list", "\n".join(lines))
        lines.clear()

    def _table(self, table: etree._Element) -> None:
        cells: list[Cell] = []
        properties = table.find(f"{A}tblPr")
        named = properties is not None and properties.get("firstRow") in ("1", "true")
        rows = table.findall(f"{A}tr")
        for number, row in enumerate(rows):
            cells += _row(row, number, len(rows))
        reach = max((cell.rows for cell in cells if cell.row == 0), default=1)
        headers = (reach if reach < len(rows) else 1) if named and len(rows) > 1 else 0
        try:
            self.out.table(lay_out(cells, headers=headers))
        except ValueError as error:
            raise refused(self.package.item, str(error), "split the table") from None


def _row(row: etree._Element, number: int, height: int) -> Iterator[Cell]:
    for column, cell in enumerate(row.iterfind(f"{A}tc")):
        if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
            continue
        rows = max(1, min(whole(cell.get("rowSpan"), 1), height - number))
        columns = max(1, min(whole(cell.get("gridSpan"), 1), _MAX_SPAN))
        body = cell.find(f"{A}txBody")
        text = "\n".join(filter(None, map(_inline, body.iterfind(f"{A}p")))) if body is not None else ""
        yield Cell(number, column, text, rows, columns)


def _shapes(parent: etree._Element | None) -> Iterator[etree._Element]:
    """Shapes in the order of the file, those in groups in the place of their group, hidden ones left out."""
    for node in parent if parent is not None else ():
        if node.tag == f"{P}grpSp":
            yield from _shapes(node)
        elif node.tag == f"{_MC}AlternateContent":
            yield from _shapes(next(iter(node), None))
        elif node.tag in (f"{P}sp", f"{P}graphicFrame", f"{P}pic") and not _is_hidden(node):
            yield node


def _is_hidden(shape: etree._Element) -> bool:
    named = next(shape.iter(f"{P}cNvPr"), None)
    return named is not None and named.get("hidden") in ("1", "true")


def _placeholder(shape: etree._Element) -> str:
    """The type of the place that the layout gives the shape; "" for a shape of the slide's own."""
    node = next(iter(shape), None)
    found = node.find(f"{P}nvPr/{P}ph") if node is not None else None
    return found.get("type", "obj") if found is not None else ""


# Text


def _text(shape: etree._Element) -> str:
    return "\n".join(filter(None, map(_inline, shape.iterfind(f"{P}txBody/{A}p"))))


def _inline_all(node: etree._Element) -> str:
    return " ".join(filter(None, map(_inline, node.iterfind(f"{A}p"))))


def _inline(paragraph: etree._Element) -> str:
    text = joined(_parts(paragraph))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def _parts(parent: etree._Element) -> Iterator[tuple[str, Script]]:
    for node in parent:
        if node.tag == f"{A}r":
            yield node.findtext(f"{A}t") or "", _script(node)
        elif node.tag == f"{A}br":
            yield "\n", ""
        elif node.tag == f"{A}fld" and node.get("type") != "slidenum":
            yield node.findtext(f"{A}t") or "", ""
        elif node.tag == f"{_MC}AlternateContent":
            yield from _parts(next(iter(node), node))
        elif isinstance(node.tag, str) and node.tag.endswith("}m"):
            yield "".join(map(linear, node.iter(f"{M}oMath"))), ""


def _script(run: etree._Element) -> Script:
    properties = run.find(f"{A}rPr")
    raised = whole(properties.get("baseline")) if properties is not None else 0
    return "super" if raised > 0 else "sub" if raised < 0 else ""


def _level(paragraph: etree._Element) -> int:
    properties = paragraph.find(f"{A}pPr")
    return whole(properties.get("lvl")) if properties is not None else 0


def _label(paragraph: etree._Element, bulleted: bool, counts: dict[int, int]) -> str:
    """What stands before a point: its number, "-", or nothing. Counts by level; a step up starts those below anew."""
    properties = paragraph.find(f"{A}pPr")
    level = _level(paragraph)
    for deeper in [n for n in counts if n > level]:
        del counts[deeper]
    numbered = properties.find(f"{A}buAutoNum") if properties is not None else None
    if numbered is not None:
        counts[level] = counts.get(level, whole(numbered.get("startAt"), 1) - 1) + 1
        return _numbered(counts[level], numbered.get("type", "arabicPeriod"))
    counts.pop(level, None)
    if properties is not None and properties.find(f"{A}buNone") is not None:
        return ""
    own = properties is not None and properties.find(f"{A}buChar") is not None
    return "-" if own or bulleted or level else ""


def _numbered(count: int, kind: str) -> str:
    form = next((form for sign, form in _NUMBERS.items() if kind.startswith(sign)), "decimal")
    number = figure(count, form)
    return (
        f"({number})"
        if kind.endswith("ParenBoth")
        else f"{number})"
        if kind.endswith("ParenR")
        else f"{number}."
    )


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
