"""Office files of before 2007 (DOC, XLS, PPT), and those that a password locks: all are compound files (OLE).

Presentations of that age are refused.
"""

from __future__ import annotations

import struct
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import doc
from veraz.providers.parsers.compound import Compound, Damaged
from veraz.providers.parsers.doc_file import WordEncrypted
from veraz.providers.parsers.file import document, no_content, refused
from veraz.providers.parsers.grid import MAX_CELLS, MAX_COLUMNS
from veraz.providers.parsers.number_format import plain
from veraz.providers.parsers.sheets import Area, Sheet, Value, counted, write_sheet
from veraz.providers.parsers.writing import Writer

VERSION = "ole/1"


class OleParser:
    def parse(self, item: RawItem) -> ParsedDocument:
        try:
            file = Compound(item.payload or b"")
            if "EncryptedPackage" in file:
                raise _encrypted(item)
            if "WordDocument" in file:
                return doc.read(item, file)
        except (Damaged, struct.error, IndexError) as error:
            raise refused(item, f"cannot be read: {error}", "save it as .docx, .xlsx or .pptx") from None
        except WordEncrypted:
            raise _encrypted(item) from None
        if "Workbook" in file or "Book" in file:
            return _read_xls(item)
        if "PowerPoint Document" in file:
            raise refused(item, "a presentation of before 2007 (.ppt), which is not read", "save it as .pptx")
        raise refused(item, "an OLE file that is no document", "leave it out, or export its text")


def _encrypted(item: RawItem) -> ItemError:
    return refused(item, "encrypted: it needs a password", "save it without a password")


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
