"""Workbooks (XLSX): what each visible sheet shows.

Formulas count by the value that was last computed. Hidden sheets, rows and columns are left out, and said to be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from lxml import etree

from veraz.nouns.corpus import ParsedDocument
from veraz.providers.parsers.file import document
from veraz.providers.parsers.grid import MAX_CELLS, MAX_COLUMNS
from veraz.providers.parsers.number_format import BUILT_IN, shown
from veraz.providers.parsers.properties import read_properties
from veraz.providers.parsers.sheets import Area, Sheet, Value, counted, write_sheet
from veraz.providers.parsers.word_styles import whole
from veraz.providers.parsers.writing import Writer
from veraz.providers.parsers.zipped import Package
from veraz.text.scripts import Script, joined

VERSION = "xlsx/1"

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CODE = 255
"""The longest format code that a workbook may hold."""
_TEXT, _VALUE = f"{S}t", f"{S}v"
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")


def read(package: Package, main: str) -> ParsedDocument:
    return _Workbook(package, main).document()


@dataclass(frozen=True, slots=True)
class _Format:
    code: str = ""
    bold: bool = False


class _Workbook:
    def __init__(self, package: Package, main: str) -> None:
        self.package, self.main = package, main
        self.root = package.xml(main)
        self.strings = self._strings()
        self.formats = self._formats()
        properties = self.root.find(f"{S}workbookPr")
        self.since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        self.lost: Counter[str] = Counter()
        self.hidden: list[str] = []
        self.notes: list[str] = []
        self.left = MAX_CELLS

    def document(self) -> ParsedDocument:
        out = Writer()
        for sheet in self._sheets():
            write_sheet(out, sheet)
        stated, title = read_properties(self.package)
        made = out.outline()
        if not made.pieces:
            made = Writer().outline()  # names of empty sheets are no content
        warnings = self.warnings()
        return document(
            self.package.item, made, VERSION, title=title, stated=stated, warnings=warnings, media="xlsx"
        )

    def warnings(self) -> tuple[str, ...]:
        hidden = (
            [f"hidden sheet{'s' * (len(self.hidden) > 1)} {counted(self.hidden)} left out"]
            if self.hidden
            else []
        )
        lost = [f"{n:,} {what.format(s='s' * (n != 1))} left out" for what, n in self.lost.items() if n]
        return (*hidden, *lost, *self.notes)

    # What the sheets share

    def _strings(self) -> list[str]:
        name = self.package.related(self.main, "sharedStrings")
        return [_rich(node) for node in self.package.xml(name).iterfind(f"{S}si")] if name else []

    def _formats(self) -> list[_Format]:
        name = self.package.related(self.main, "styles")
        if name is None:
            return []
        root = self.package.xml(name)
        codes = {
            n.get("numFmtId", ""): n.get("formatCode", "") for n in root.iterfind(f"{S}numFmts/{S}numFmt")
        }
        fonts = [_is_on(font.find(f"{S}b")) for font in root.iterfind(f"{S}fonts/{S}font")]
        found: list[_Format] = []
        for node in root.iterfind(f"{S}cellXfs/{S}xf"):
            number, font = node.get("numFmtId", "0"), whole(node.get("fontId"))
            code = codes.get(number) or BUILT_IN.get(whole(number), "")
            found.append(_Format(code[:_CODE], 0 <= font < len(fonts) and fonts[font]))
        return found

    def _sheets(self) -> Iterator[Sheet]:
        relations = self.package.relations(self.main)
        for node in self.root.iterfind(f"{S}sheets/{S}sheet"):
            name, relation = node.get("name", ""), relations.get(node.get(_R_ID, ""))
            if node.get("state", "visible") != "visible":
                self.hidden.append(name)
            elif relation is None or relation.kind != "worksheet":
                self.lost["chart sheet{s}"] += 1
            else:
                yield self._sheet(name, relation.target)

    # One sheet

    def _sheet(self, name: str, part: str) -> Sheet:
        sheet = Sheet(name)
        related = self.package.relations(part).values()
        sheet.tables = [_stated(self.package.xml(r.target)) for r in related if r.kind == "table"]
        for relation in related:
            self.lost["chart{s} or image{s}"] += relation.kind == "drawing"
            if relation.kind in ("comments", "threadedComment"):
                self.lost["comment{s}"] += len(
                    list(self.package.xml(relation.target).iter("{*}comment", "{*}threadedComment"))
                )
        row = 0
        for node in self._nodes(part):
            tag = node.tag.removeprefix(S)
            if tag == "col" and node.get("hidden") in ("1", "true"):
                sheet.hidden_columns.update(
                    range(whole(node.get("min"), 1) - 1, min(whole(node.get("max"), 1), MAX_COLUMNS))
                )
            elif tag == "pane" and node.get("state") in ("frozen", "frozenSplit"):
                sheet.frozen = whole(node.get("ySplit", "0").partition(".")[0])
            elif tag == "mergeCell":
                sheet.merged += filter(None, [_area(node.get("ref", ""))])
            elif tag == "row":
                row = max(1, whole(node.get("r"), row + 1))
                self._row(sheet, node, row - 1)
        if sheet.hidden_columns and sheet.rows:
            self.lost["hidden column{s}"] += len(sheet.hidden_columns)
        return sheet

    def _nodes(self, part: str) -> Iterator[etree._Element]:
        """The elements of a sheet that matter, each let go when it is done with: a sheet may be large."""
        stream = BytesIO(self.package.xml_bytes(part))
        wanted = [f"{S}{name}" for name in ("col", "pane", "row", "mergeCell")]
        try:
            for _, node in etree.iterparse(
                stream,
                tag=wanted,
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                remove_comments=True,
            ):
                yield node
                node.clear()
                while node.getprevious() is not None:
                    del node.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise self.package.malformed(part, error) from None

    def _row(self, sheet: Sheet, node: etree._Element, row: int) -> None:
        if node.get("hidden") in ("1", "true"):
            self.lost["hidden row{s}"] += len(node) > 0
            sheet.hidden_rows.add(row)
            return
        cells: dict[int, Value] = {}
        column = -1
        for cell in node.iterfind(f"{S}c"):
            place = _REFERENCE.fullmatch(cell.get("r", ""))
            column = _column(place[1]) if place else column + 1
            if column in sheet.hidden_columns:
                continue
            if (value := self._value(cell)) is not None:
                cells[column] = value
        self._keep(sheet, row, cells)

    def _keep(self, sheet: Sheet, row: int, cells: dict[int, Value]) -> None:
        """Bounded by cells in all and columns in each sheet."""
        if wide := sum(column >= MAX_COLUMNS for column in cells):
            cells = {column: value for column, value in cells.items() if column < MAX_COLUMNS}
            self.lost[f"cell{{s}} beyond column {MAX_COLUMNS:,}"] += wide
        span = max(cells, default=-1) + 1
        self.left -= span
        if self.left >= 0:
            sheet.rows.update({row: cells} if cells else {})
        elif self.left + span >= 0 and span:
            self.notes.append(
                f"sheet “{sheet.name}”: everything from row {row + 1} on left out (more than {MAX_CELLS:,} cells)"
            )
            self.left = -1

    def _value(self, cell: etree._Element) -> Value | None:
        kind, written = cell.get("t", "n"), cell.findtext(_VALUE) or ""
        style = whole(cell.get("s"))
        form = self.formats[style] if 0 <= style < len(self.formats) else _Format()
        text, figure = written, False
        if kind == "s":
            text = (
                self.strings[int(written)] if written.isdecimal() and int(written) < len(self.strings) else ""
            )
        elif kind == "inlineStr":
            inline = cell.find(f"{S}is")
            text = _rich(inline) if inline is not None else ""
        elif kind == "b":
            text, figure = ("TRUE" if written == "1" else "FALSE"), True
        elif kind == "d":
            text, figure = written.removesuffix("T00:00:00"), True
        elif kind == "n" and written:
            text, figure = self._number(written, form.code), True
        elif kind == "n" and cell.find(f"{S}f") is not None:
            self.lost["formula{s} without a computed value"] += 1
        return Value(text, figure, form.bold) if text.strip() else None

    def _number(self, written: str, code: str) -> str:
        try:
            return shown(float(written), code, since_1904=self.since_1904)
        except (ValueError, ArithmeticError):
            return written


def _is_on(node: etree._Element | None) -> bool:
    return node is not None and node.get("val", "1") not in ("0", "false")


def _rich(node: etree._Element) -> str:
    """A string with its parts, raised and lowered ones kept apart; without the phonetic reading."""
    parts: list[tuple[str, Script]] = [(node.findtext(_TEXT) or "", "")]
    plain = len(node) == 1 and node[0].tag == _TEXT and "_x" not in parts[0][0]
    return parts[0][0] if plain else _rich_runs(node, parts)


def _rich_runs(node: etree._Element, parts: list[tuple[str, Script]]) -> str:
    for run in node.iterfind(f"{S}r"):
        align = run.find(f"{S}rPr/{S}vertAlign")
        form = align.get("val", "") if align is not None else ""
        script: Script = "super" if form == "superscript" else "sub" if form == "subscript" else ""
        parts.append((run.findtext(f"{S}t") or "", script))
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), joined(parts))


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _area(reference: str) -> Area | None:
    ends = [_REFERENCE.fullmatch(end) for end in reference.split(":")]
    if not ends or ends[0] is None or ends[-1] is None:
        return None
    first, last = ends[0], ends[-1]
    return Area(int(first[2]) - 1, _column(first[1]), int(last[2]) - 1, _column(last[1]))


def _stated(table: etree._Element) -> tuple[Area, int]:
    area = _area(table.get("ref", "")) or Area(0, 0, 0, 0)
    return area, whole(table.get("headerRowCount"), 1)
