"""Tables of values (CSV, TSV): one table, its header row kept, however its program writes it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from itertools import islice
from pathlib import PurePosixPath

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.file import document, no_content, refused
from veraz.providers.parsers.grid import MAX_COLUMNS, Grid
from veraz.providers.parsers.sheets import Value, header_rows, is_figure
from veraz.providers.parsers.writing import Writer
from veraz.text.decode import Decoded, NotText, decode, storable

VERSION = "csv/1"

MAX_CELLS = 20_000_000
_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 200
_DIRECTIVE = re.compile(r"sep=(.)\r?\n", re.I)
_FIELD_BYTES = 16 * 1024 * 1024
_GUESSED = "the character set is not stated; read as {name}, which fits best"


class CsvParser:
    """Delimiter and quoting are those under which the rows agree best; the first row is the header unless it is like the rest."""

    def parse(self, item: RawItem) -> ParsedDocument:
        found = _decoded(item)
        text, delimiter = _dialect(found.text, item.path)
        rows = _rows(item, text, delimiter)
        if not rows:
            raise no_content(item)
        rows, notes = _even(item, rows)
        out = Writer()
        out.table(Grid(tuple(map(tuple, rows)), _headers(rows)))
        warnings = (*found.warnings, *notes)
        return document(item, out.outline(), VERSION, title="", stated={}, warnings=warnings)


def _decoded(item: RawItem) -> Decoded:
    """As any text; what is refused there for a character set that is not stated is guessed, and the guess is told."""
    payload = item.payload or b""
    try:
        found = decode(payload)
    except NotText as error:
        guess = _guessed(payload)
        if guess is None:
            raise refused(item, str(error), "save the file as UTF-8, or leave it out") from None
        found = guess
    if not found.text.strip():
        raise no_content(item)
    return found


_EAST_ASIAN = (
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
    "cp949",
    "shift_jis",
    "shift_jis_2004",
    "johab",
)


def _guessed(payload: bytes) -> Decoded | None:
    """A table in one of the multi-byte character sets, whose sequences are too particular to fit by chance."""
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError:
        return None
    if b"\x00" in payload:
        return None
    best = from_bytes(payload, cp_isolation=list(_EAST_ASIAN)).best()
    if best is None:
        return None
    text, warnings = storable(payload.decode(best.encoding, "replace"))
    if "\ufffd" in text or not _plausible(text):
        return None
    return Decoded(text, best.encoding, (*warnings, _GUESSED.format(name=best.encoding)))


def _plausible(text: str) -> bool:
    """Lines of fields, without control characters or unassigned ones."""
    printable = all(char.isprintable() or char in "\t\r\n" for char in text)
    return printable and any(sign in text for sign in _DELIMITERS)


# Dialect


def _dialect(text: str, path: str) -> tuple[str, str]:
    """The text after a `sep=;` line, and the delimiter."""
    if stated := _DIRECTIVE.match(text):
        return text[stated.end() :], stated[1]
    if PurePosixPath(path.lower().removesuffix(".gz")).suffix == ".tsv" and "\t" in text:
        return text, "\t"
    sample = list(islice(StringIO(text, newline=""), _SAMPLE_LINES))
    return text, max(_DELIMITERS, key=lambda sign: _agreement(sample, sign))


def _agreement(sample: Sequence[str], delimiter: str) -> tuple[float, int]:
    """How many of the rows have the most usual number of fields, where that is more than one; then that number."""
    try:
        widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter) if row)
    except csv.Error:
        return 0.0, 0
    if not widths:
        return 0.0, 0
    width, rows = max(widths.items(), key=lambda entry: (entry[1], entry[0]))
    return (rows / widths.total(), width) if width > 1 else (0.0, 1)


# Rows


def _rows(item: RawItem, text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(_FIELD_BYTES)
    rows: list[list[str]] = []
    cells = 0
    try:
        for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter):
            if any(map(str.strip, row)):
                rows.append([" ".join(cell.split()) for cell in row])
                cells += len(row)
            if cells > MAX_CELLS:
                raise refused(item, f"more than {MAX_CELLS:,} cells", "split the file")
    except csv.Error as error:
        raise refused(item, f"row {len(rows) + 1} cannot be read: {error}", "close its quotes") from None
    return rows


def _even(item: RawItem, rows: list[list[str]]) -> tuple[list[list[str]], tuple[str, ...]]:
    """Rows of one width; no cell is lost where they disagree."""
    widths = Counter(map(len, rows))
    width, usual = max(widths), len(rows[0])
    if width > MAX_COLUMNS:
        raise refused(
            item, f"a row of {width:,} columns", f"a table may have {MAX_COLUMNS:,}: check the delimiter"
        )
    odd = [number for number, row in enumerate(rows, 1) if len(row) != usual]
    if not odd:
        return rows, ()
    shown = ", ".join(map(str, odd[:5])) + (", …" if len(odd) > 5 else "")
    note = f"{len(odd)} of {len(rows)} rows have not the {usual} columns of the first (rows {shown}): read as {width} columns"
    return [row + [""] * (width - len(row)) for row in rows], (note,)


def _headers(rows: Sequence[Sequence[str]]) -> int:
    if len(rows) < 2:
        return 0
    values = [_values(row) for row in rows[:_SAMPLE_LINES]]
    return header_rows(values, len(rows[0])) or int(_unlike(rows))


def _values(row: Iterable[str]) -> dict[int, Value]:
    return {column: Value(cell, is_figure(cell)) for column, cell in enumerate(row) if cell}


def _unlike(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row numbers columns that hold words."""
    body = rows[1:_SAMPLE_LINES]
    words = [not any(is_figure(row[c]) for row in body) for c in range(len(rows[0]))]
    return all(words) and len(set(rows[0])) > 1
