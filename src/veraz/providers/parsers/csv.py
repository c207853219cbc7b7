"""Tables of values (CSV, TSV): one table, its header row kept, however its program writes it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain, islice
from pathlib import PurePosixPath

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.file import document, no_content, refused
from veraz.providers.parsers.grid import MAX_COLUMNS, pipe_row
from veraz.providers.parsers.sheets import Value, header_rows, is_figure
from veraz.providers.parsers.writing import Writer
from veraz.text.decode import Decoded, NotText, decode, storable

VERSION = "csv/1"

MAX_CELLS = 20_000_000
_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 200
_DIRECTIVE = re.compile(r"sep=([^\r\n\"])(?:\r\n|\n|\r)", re.I)
_FIELD_BYTES = 16 * 1024 * 1024
_GUESSED = "the character set is not stated; read as {name}, which fits best"


class CsvParser:
    """Delimiter and quoting are those under which the rows agree best; the first row is the header unless it is like the rest.

    The rows are read twice, first to learn their widths, so that they need not be held beside the text made from them.
    """

    def parse(self, item: RawItem) -> ParsedDocument:
        found = _decoded(item)
        text, delimiter = _dialect(found.text, item.path)
        shape = _measured(item, _rows(item, text, delimiter))
        lines = [pipe_row(row + [""] * (shape.width - len(row))) for row in _rows(item, text, delimiter)]
        if headers := _headers(shape):
            lines.insert(headers, "|" + "---|" * shape.width)
        out = Writer()
        out.block("table", "\n".join(lines))
        warnings = (*found.warnings, *shape.warnings())
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


@dataclass(slots=True)
class _Shape:
    usual: int = 0  # columns of the first row
    width: int = 0  # of the widest
    rows: int = 0
    odd: int = 0  # rows that have not the columns of the first
    shown: list[int] = field(default_factory=list)  # the first few of them, from 1
    sample: list[list[str]] = field(default_factory=list)

    def warnings(self) -> tuple[str, ...]:
        if not self.odd:
            return ()
        which = ", ".join(map(str, self.shown)) + (", …" if self.odd > len(self.shown) else "")
        return (
            f"{self.odd} of {self.rows} rows have not the {self.usual} columns of the first (rows {which}): "
            f"read as {self.width} columns",
        )


def _rows(item: RawItem, text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_FIELD_BYTES)
    record: list[str] = []  # the lines of the row that was read last
    reader = csv.reader(_noted(StringIO(text, newline=""), record), delimiter=delimiter)
    unclosed = False
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield row
            unclosed = len(record) > 1 and sum(line.count('"') for line in record) % 2 == 1
            begin = reader.line_num - len(record) + 1
            record.clear()
    except csv.Error as error:
        raise refused(item, f"line {reader.line_num} cannot be read: {error}", "close its quotes") from None
    if unclosed:  # all rows from there on would be one cell
        reason = f"line {begin} opens a quote that is never closed"
        raise refused(item, reason, "close it, or write it twice where it belongs to the text")


def _noted(lines: Iterable[str], into: list[str]) -> Iterator[str]:
    for line in lines:
        into.append(line)
        yield line


def _measured(item: RawItem, rows: Iterable[list[str]]) -> _Shape:
    """No cell is lost where rows disagree: they are as wide as the widest."""
    shape = _Shape()
    for row in rows:
        shape.rows += 1
        shape.width, shape.usual = max(shape.width, len(row)), shape.usual or len(row)
        if len(row) != shape.usual:
            shape.odd += 1
            shape.shown += [shape.rows] if len(shape.shown) < 5 else []
        if len(shape.sample) < _SAMPLE_LINES:
            shape.sample.append([cell.strip() for cell in row])
    if not shape.rows:
        raise no_content(item)
    if shape.width > MAX_COLUMNS or shape.width * shape.rows > MAX_CELLS:
        reason = f"a table of {shape.rows:,} rows and {shape.width:,} columns"
        fix = f"split it: a table may have {MAX_COLUMNS:,} columns and {MAX_CELLS:,} cells; or check the delimiter"
        raise refused(item, reason, fix)
    return shape


def _headers(shape: _Shape) -> int:
    if shape.rows < 2:
        return 0
    values = [_values(row) for row in shape.sample]
    return header_rows(values, shape.usual) or int(_unlike(shape.sample))


def _values(row: Iterable[str]) -> dict[int, Value]:
    return {column: Value(cell, is_figure(cell)) for column, cell in enumerate(row) if cell}


def _unlike(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row numbers columns that hold words."""
    columns = [[row[at] for row in rows[1:] if at < len(row)] for at in range(len(rows[0]))]
    return not any(map(is_figure, chain.from_iterable(columns))) and len(set(rows[0])) > 1
