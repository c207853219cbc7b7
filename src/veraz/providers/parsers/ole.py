"""Office files of before 2007 (DOC, XLS, PPT), and those that a password locks: all are compound files (OLE).

Workbooks are read as such. Of a Word file the text is read, and tables whose cells can be told; its headings are not marked in
what can be read of it, and a warning says so. Presentations are refused.
"""

from __future__ import annotations

import re
import struct
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.file import document, no_content, refused
from veraz.providers.parsers.grid import MAX_CELLS, MAX_COLUMNS, Grid
from veraz.providers.parsers.number_format import plain
from veraz.providers.parsers.sheets import Area, Sheet, Value, counted, write_sheet
from veraz.providers.parsers.writing import Writer

VERSION = "ole/1"

_STREAMS = ("EncryptedPackage", "WordDocument", "Workbook", "Book", "PowerPoint Document")
_SECTOR = 512
_FIELD = re.compile(
    r"\s*\b(?:SEQ|HYPERLINK|PAGEREF|REF|TOC|PAGE|DATE|STYLEREF|FORMTEXT|INCLUDEPICTURE)\b[^\n]*?\\\*\s*\w+\s?"
)


class OleParser:
    def parse(self, item: RawItem) -> ParsedDocument:
        streams = _streams(item.payload or b"")
        if "EncryptedPackage" in streams:
            raise _encrypted(item)
        if "WordDocument" in streams:
            return _read_doc(item, streams["WordDocument"])
        if "Workbook" in streams or "Book" in streams:
            return _read_xls(item)
        kind = (
            "a presentation of before 2007 (.ppt)"
            if "PowerPoint Document" in streams
            else "an OLE file that is no document"
        )
        fix = "save it as .pptx" if "PowerPoint Document" in streams else "leave it out, or export its text"
        raise refused(item, f"{kind}, which is not read", fix)


def _streams(payload: bytes) -> dict[str, int]:
    """Of the streams that tell what a file is, those it has, with the place of the first byte. The directory's entries are 128
    bytes each, wherever its sectors lie: a name in UTF-16, its length in bytes at 64, the first sector at 116."""
    found: dict[str, int] = {}
    for name in _STREAMS:
        wanted = f"{name}\x00".encode("utf-16-le")
        at = payload.find(wanted)
        while at >= 0:
            if at % 128 == 0 and payload[at + 64 : at + 66] == struct.pack("<H", len(wanted)):
                sector = int.from_bytes(payload[at + 116 : at + 120], "little")
                found[name] = (sector + 1) * _SECTOR
                break
            at = payload.find(wanted, at + 2)
    return found


def _encrypted(item: RawItem) -> Any:
    return refused(item, "encrypted: it needs a password", "save it without a password")


# Word


def _read_doc(item: RawItem, start: int) -> ParsedDocument:
    flags = int.from_bytes((item.payload or b"")[start + 10 : start + 12], "little")
    if flags & 0x0100:
        raise _encrypted(item)
    text = _word_text(item)
    out = Writer()
    flat = 0
    for part in text.split("\n"):
        flat += _write_line(out, part)
    warnings = ["read as text: the headings of a .doc are not told apart; save it as .docx to keep them"]
    if flat:
        warnings.append(f"{flat} line{'s' * (flat > 1)} of cells could not be told apart as tables")
    return document(item, out.outline(), VERSION, title="", stated={}, warnings=warnings, media="doc")


def _word_text(item: RawItem) -> str:
    from kreuzberg import extract_bytes_sync
    from kreuzberg.exceptions import KreuzbergError

    try:
        text = extract_bytes_sync(item.payload or b"", "application/msword").content
    except KreuzbergError as error:
        raise refused(item, f"a .doc that cannot be read: {error}", "save it as .docx") from None
    if not text.strip():
        raise no_content(item)
    return _FIELD.sub(" ", text)


def _write_line(out: Writer, line: str) -> bool:
    """Writes a paragraph or a table; whether it held cells that could not be told apart."""
    cells = line.split("\t")
    width = _width(cells)
    if not width:
        out.block("paragraph", " ".join(line.split()))
        return len(cells) > 4
    rows = [tuple(cells[at : at + width]) for at in range(0, len(cells) - 1, width + 1)]
    out.table(Grid(tuple(rows)))
    return False


def _width(cells: list[str]) -> int:
    """The number of columns under which each row ends with the mark of its end, an empty cell; 0: none, or several that
    are not whole rows of it side by side."""
    count = len(cells) - 1
    fits = [
        w for w in range(2, count) if count % (w + 1) == 0 and not any(cells[w :: w + 1]) and count > w + 1
    ]
    alone = bool(fits) and all((w + 1) % (fits[0] + 1) == 0 for w in fits)
    return fits[0] if alone and cells[-1] == "" else 0


# Workbooks


def _read_xls(item: RawItem) -> ParsedDocument:
    from python_calamine import CalamineError, PasswordError, SheetVisibleEnum, load_workbook

    try:
        book = load_workbook(BytesIO(item.payload or b""))
        out = Writer()
        hidden = [s.name for s in book.sheets_metadata if s.visible != SheetVisibleEnum.Visible]
        for name in book.sheet_names:
            if name not in hidden:
                write_sheet(out, _sheet(item, name, book.get_sheet_by_name(name)))
    except PasswordError:
        raise _encrypted(item) from None
    except CalamineError as error:
        raise refused(item, f"a workbook that cannot be read: {error}", "save it as .xlsx") from None
    made = out.outline()
    warnings = [f"hidden sheet{'s' * (len(hidden) > 1)} {counted(hidden)} left out"] if hidden else []
    if not made.pieces:
        raise no_content(item)
    return document(item, made, VERSION, title="", stated={}, warnings=warnings, media="xls")


def _sheet(item: RawItem, name: str, source: Any) -> Sheet:
    if source.total_height * min(source.total_width, MAX_COLUMNS) > MAX_CELLS:
        raise refused(item, f"sheet “{name}” has more than {MAX_CELLS:,} cells", "split it")
    sheet = Sheet(name)
    for number, row in enumerate(source.to_python(skip_empty_area=False)):
        cells = {column: value for column, cell in enumerate(row) if (value := _value(cell)) is not None}
        if cells:
            sheet.rows[number] = cells
    for (top, left), (bottom, right) in source.merged_cell_ranges or []:
        sheet.merged.append(Area(top, left, bottom, right))
    return sheet


def _value(cell: Any) -> Value | None:
    if isinstance(cell, bool):
        return Value(str(cell).upper(), True)
    if isinstance(cell, int | float):
        return Value(plain(float(cell)), True)
    if isinstance(cell, datetime):
        return Value(
            cell.isoformat(" ", "minutes" if not cell.second else "seconds").removesuffix(" 00:00"), True
        )
    if isinstance(cell, date | time | timedelta):
        return Value(str(cell), True)
    text = str(cell)
    return Value(text) if text.strip() else None
