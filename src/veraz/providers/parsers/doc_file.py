"""The binary Word format (MS-DOC) as paragraphs: their text, their styles, their places in tables.

Offsets and codes are those of the specification: FIB, CLX (the pieces of the text), PAPX and CHPX (properties of paragraphs and
characters, by place in the file), STSH (styles).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from veraz.providers.parsers.compound import Compound, Damaged
from veraz.providers.parsers.symbols import symbols
from veraz.text.scripts import Script

_PAGE = 512
_ENDS = re.compile("[\r\x07\x0c]")
_PRIVATE = re.compile("[\uf020-\uf0ff]")
_MARKS = {
    "\x0b": "\n",
    "\x1e": "\u2011",
    "\x1f": "",
    "\xad": "",
    "\x05": "",
    "\x0e": " ",
    "\x03": "",
    "\x04": "",
}
# Properties: of characters hidden, deleted, bold, script, symbol; of paragraphs in a table, end of a row, outline level, list.
_HIDDEN, _DELETED, _BOLD, _SCRIPT, _SYMBOL = 0x083C, 0x0800, 0x0835, 0x2A48, 0x6A09
_IN_TABLE, _ROW_END, _LEVEL, _LIST, _CELLS, _HEADER, _HUGE = (
    0x2416,
    0x2417,
    0x2640,
    0x460B,
    0xD608,
    0x3404,
    (0x6645, 0x6646),
)
_NO_LIST = (0, 0xF801)
_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}
_TITLE_STYLE, _CAPTION_STYLE, _CONTENTS_STYLES = 62, 34, range(19, 28)

Properties = dict[int, bytes]


@dataclass(slots=True)
class Paragraph:
    parts: list[tuple[str, Script]] = field(default_factory=list)
    style: int = 0
    level: int = 0  # of the heading; 0: none
    properties: Properties = field(default_factory=dict)
    ends_cell: bool = False
    size: int = 0
    bold: int = 0

    @property
    def in_table(self) -> bool:
        return _set(self.properties, _IN_TABLE)

    @property
    def ends_row(self) -> bool:
        return _set(self.properties, _ROW_END)

    @property
    def is_header(self) -> bool:
        return _set(self.properties, _HEADER)

    @property
    def in_list(self) -> bool:
        return int.from_bytes(self.properties.get(_LIST, b"\0\0")[:2], "little") not in _NO_LIST

    @property
    def kind(self) -> str:
        """What its style is by its number, in any language: "title", "caption", "contents" or ""."""
        named = {_TITLE_STYLE: "title", _CAPTION_STYLE: "caption"}
        return "contents" if self.style in _CONTENTS_STYLES else named.get(self.style, "")

    def row(self) -> list[tuple[int, int, int]]:
        """Of the row that it ends, left and right edge of each cell, and its merge: 0, 1 (goes on from above), 3 (begins)."""
        data = self.properties.get(_CELLS, b"")
        if len(data) < 3:
            return []
        count = data[2]
        edges = struct.unpack_from(f"<{count + 1}h", data, 3)
        found: list[tuple[int, int, int]] = []
        for at in range(count):
            flags = data[3 + 2 * (count + 1) + 20 * at :][:2]
            found.append((edges[at], edges[at + 1], int.from_bytes(flags, "little") >> 5 & 3))
        return found


@dataclass(frozen=True, slots=True)
class _Runs:
    """Properties by place in the file: `starts` ascend."""

    starts: list[int]
    ends: list[int]
    values: list[tuple[int, Properties]]

    def at(self, place: int) -> tuple[int, Properties]:
        n = bisect_right(self.starts, place) - 1
        return self.values[n] if n >= 0 and place < self.ends[n] else (0, {})


class WordEncrypted(Exception):
    """The text is encrypted."""


class WordFile:
    """Raises Damaged for what cannot be such a file, WordEncrypted for one that a password locks."""

    def __init__(self, file: Compound) -> None:
        self.lost: Counter[str] = Counter()
        self.noted = 0
        self._fields: list[bool] = []  # of each open field, whether its result has begun
        try:
            self._main = file.read("WordDocument")
            mark, version, flags = struct.unpack_from("<HH6xH", self._main)
            if flags & 0x0100:
                raise WordEncrypted
            if mark != 0xA5EC or version < 0x00C1:
                raise Damaged("written by a Word of before 1997")
            self._table = file.read("1Table" if flags & 0x0200 else "0Table")
            self._data = file.read("Data") if "Data" in file else b""
            self.lengths = struct.unpack_from("<8i", self._main, 0x4C)
            self._pieces = list(self._read_pieces())
            if sum((end - begin) * width for begin, end, _, width in self._pieces) > len(self._main):
                raise Damaged("its text is longer than the file")
            self._styles = self._read_styles()
            self._paragraphs = self._read_runs(13, self._paragraph_properties)
            self._characters = self._read_runs(12, self._character_properties)
        except (struct.error, IndexError, KeyError) as error:
            raise Damaged(f"its parts do not fit together ({error})") from None

    def parts(self) -> dict[str, tuple[int, int]]:
        """First and last place of each part of the text: body, footnotes, headers, macros, comments, endnotes, boxes."""
        found: dict[str, tuple[int, int]] = {}
        at = 0
        names = ("body", "footnotes", "headers", "macros", "comments", "endnotes", "boxes")
        for name, length in zip(names, self.lengths, strict=False):
            found[name] = (at, at + max(0, length))
            at += max(0, length)
        return found

    # What the file holds

    def _range(self, number: int) -> tuple[int, int]:
        start, size = struct.unpack_from("<II", self._main, 154 + 8 * number)
        return start, size

    def _read_pieces(self) -> Iterator[tuple[int, int, int, int]]:
        """Places in the text, place in the file, bytes a character."""
        at, size = self._range(33)
        end = at + size
        while at < end and self._table[at] == 1:
            at += 3 + struct.unpack_from("<H", self._table, at + 1)[0]
        length = struct.unpack_from("<I", self._table, at + 1)[0]
        count = (length - 4) // 12
        places = struct.unpack_from(f"<{count + 1}I", self._table, at + 5)
        for n in range(count):
            place = struct.unpack_from("<I", self._table, at + 5 + 4 * (count + 1) + 8 * n + 2)[0]
            narrow = place & 0x40000000
            yield (
                places[n],
                places[n + 1],
                (place & ~0x40000000) // 2 if narrow else place,
                1 if narrow else 2,
            )

    def _read_styles(self) -> list[tuple[int, int]]:
        """Of each style its number among Word's own, and what it is based on."""
        at, size = self._range(1)
        end = at + size
        at += 2 + struct.unpack_from("<H", self._table, at)[0]
        found: list[tuple[int, int]] = []
        while at + 2 <= end:
            length = struct.unpack_from("<H", self._table, at)[0]
            own, base = struct.unpack_from("<HH", self._table, at + 2) if length >= 4 else (0xFFF, 0xFFF0)
            found.append((own & 0xFFF, base >> 4))
            at += 2 + length + (length & 1)
        return found

    def _style(self, index: int) -> tuple[int, int]:
        """The number of a style and its heading level, by the styles it is based on."""
        own = self._styles[index][0] if index < len(self._styles) else 0
        for _ in range(20):
            if index >= len(self._styles):
                break
            number, base = self._styles[index]
            for level in (
                number,
                index,
            ):  # the first nine are headings, whatever program calls them otherwise
                if 1 <= level <= 9:
                    return own, level
            index = base
        return own, 0

    def _read_runs(self, number: int, read: object) -> _Runs:
        found = _Runs([], [], [])
        at, size = self._range(number)
        count = (size - 4) // 8
        for n in range(count):
            page = struct.unpack_from("<I", self._table, at + 4 * (count + 1) + 4 * n)[0] * _PAGE
            data = self._main[page : page + _PAGE]
            runs = data[_PAGE - 1]
            places = struct.unpack_from(f"<{runs + 1}I", data)
            for run in range(runs):
                found.starts.append(places[run])
                found.ends.append(places[run + 1])
                found.values.append(read(data, 4 * (runs + 1), run))  # type: ignore[operator]
        return found

    def _paragraph_properties(self, page: bytes, base: int, run: int) -> tuple[int, Properties]:
        at = page[base + 13 * run] * 2
        if not at:
            return 0, {}
        words = page[at]
        start, size = (at + 1, 2 * words - 1) if words else (at + 2, 2 * page[at + 1])
        style = struct.unpack_from("<H", page, start)[0]
        found = _properties(page[start + 2 : start + size])
        for code in _HUGE:  # too many for a page: kept elsewhere
            if code in found:
                place = int.from_bytes(found[code], "little")
                length = int.from_bytes(self._data[place : place + 2], "little")
                found.update(_properties(self._data[place + 2 : place + 2 + length]))
        return style, found

    def _character_properties(self, page: bytes, base: int, run: int) -> tuple[int, Properties]:
        at = page[base + run] * 2
        return 0, _properties(page[at + 1 : at + 1 + page[at]]) if at else {}

    # Reading

    def paragraphs(self, first: int, last: int) -> Iterator[Paragraph]:
        paragraph = Paragraph()
        self._fields.clear()
        for text, place, width, properties in self._segments(first, last):
            begin = 0
            for end in _ENDS.finditer(text):
                self._add(paragraph, text[begin : end.start()], properties)
                index, found = self._paragraphs.at(place + end.start() * width)
                style, level = self._style(index)
                paragraph.style, paragraph.level, paragraph.properties = style, level, found
                if _LEVEL in found:
                    paragraph.level = found[_LEVEL][0] + 1 if found[_LEVEL][0] < 9 else 0
                paragraph.ends_cell = end[0] == "\x07"
                yield paragraph
                paragraph, begin = Paragraph(), end.end()
            self._add(paragraph, text[begin:], properties)
        if paragraph.parts:
            yield paragraph

    def _segments(self, first: int, last: int) -> Iterator[tuple[str, int, int, Properties]]:
        """The text in runs of equal properties, with their place in the file and the bytes of a character."""
        for begin, end, place, width in self._pieces:
            low, high = max(begin, first), min(end, last)
            at, stop = place + (low - begin) * width, place + (high - begin) * width
            while at < stop:
                n = bisect_right(self._characters.starts, at) - 1
                covered = n >= 0 and at < self._characters.ends[n]
                until = max(min(self._characters.ends[n] if covered else stop, stop), at + width)
                data = self._main[at:until]
                text = data.decode("cp1252", "replace") if width == 1 else data.decode("utf-16-le", "replace")
                yield text, at, width, self._characters.values[n][1] if covered else {}
                at = until

    def _add(self, paragraph: Paragraph, text: str, properties: Properties) -> None:
        if not text:
            return
        shown = "".join(self._shown(char, properties) for char in text)
        if _set(properties, _DELETED) or _set(properties, _HIDDEN):
            self.lost["deletions" if _set(properties, _DELETED) else "hidden"] += bool(shown.strip())
            return
        script: Script = {b"\x01": "super", b"\x02": "sub"}.get(properties.get(_SCRIPT, b""), "")  # type: ignore[assignment]
        paragraph.parts.append((shown, script))
        size = len("".join(shown.split()))
        paragraph.size += size
        paragraph.bold += size * _set(properties, _BOLD)

    def _shown(self, char: str, properties: Properties) -> str:
        """A character as a reader sees it; fields show their result."""
        if char == "\x13":
            self._fields.append(False)
        elif char == "\x14" and self._fields:
            self._fields[-1] = True
        elif char == "\x15" and self._fields:
            self._fields.pop()
        elif all(self._fields):
            return self._sign(char, properties)
        return ""

    def _sign(self, char: str, properties: Properties) -> str:
        if char in _MARKS:
            return _MARKS[char]
        if char == "\x02":
            self.noted += 1
            return f"[{self.noted}]"
        if char in "\x01\x08":
            self.lost["images"] += 1
            return ""
        if char == "(" and _SYMBOL in properties:
            char = chr(int.from_bytes(properties[_SYMBOL][2:4], "little"))
        if _PRIVATE.match(char):
            return symbols(char, "Symbol")
        return char if char >= " " or char in "\t\n" else ""


def _set(properties: Properties, code: int) -> bool:
    return properties.get(code, b"\0")[:1] in (b"\x01", b"\x81")


def _properties(data: bytes) -> Properties:
    """Codes with their operands, whose size the code tells."""
    found: Properties = {}
    at = 0
    while at + 2 < len(data):
        code = struct.unpack_from("<H", data, at)[0]
        at += 2
        size = _SIZES.get(code >> 13, 0)
        if code == _CELLS:
            size = int.from_bytes(data[at : at + 2], "little") + 1
        elif not size:
            size = data[at] + 1
        found[code] = data[at : at + size]
        at += size
    return found
