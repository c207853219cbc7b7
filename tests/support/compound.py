"""Compound files (OLE) made by hand: a container, Word documents and workbooks of before 2007."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def ole(streams: Mapping[str, bytes]) -> bytes:
    """A container of these streams, each filled up to the size at which it has sectors of its own."""
    contents = [
        data.ljust(max(4096, -(-len(data) // _SECTOR) * _SECTOR), b"\x00") for data in streams.values()
    ]
    directory_sectors = -(-(len(streams) + 1) // 4)
    total = 1 + directory_sectors + sum(len(data) // _SECTOR for data in contents)
    assert total <= _SECTOR // 4, "one sector of allocation table"
    fat = [_FAT, *_chain(1, directory_sectors)]
    entries = [_entry("Root Entry", 5, _END, 0, child=1)]
    for n, (name, data) in enumerate(zip(streams, contents, strict=True), 1):
        entries.append(_entry(name, 2, len(fat), len(data), right=n + 1 if n < len(streams) else _FREE))
        fat += _chain(len(fat), len(data) // _SECTOR)
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(_SECTOR, b"\xff")
    directory = b"".join(entries).ljust(directory_sectors * _SECTOR, b"\x00")
    return b"".join([_header(), table, directory, *contents])


def _chain(start: int, count: int) -> list[int]:
    return [*range(start + 1, start + count), _END]


def _header() -> bytes:
    head = (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(16)
        + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
        + bytes(10)
    )
    rest = struct.pack("<IIIIIIII", 1, 1, 0, 4096, _END, 0, _END, 0)
    return head + rest + struct.pack("<109I", 0, *[_FREE] * 108)


def _entry(name: str, kind: int, start: int, size: int, *, right: int = _FREE, child: int = _FREE) -> bytes:
    written = f"{name}\x00".encode("utf-16-le")
    head = written.ljust(64, b"\x00") + struct.pack("<HBB", len(written), kind, 1)
    return (
        (head + struct.pack("<III", _FREE, right, child)).ljust(116, b"\x00")
        + struct.pack("<II", start, size)
        + bytes(4)
    )


# Word


@dataclass(frozen=True)
class Par:
    """A paragraph: its runs as text and properties, the sign that ends it, its style and its own properties."""

    runs: Sequence[tuple[str, bytes]]
    end: str = "\r"
    style: int = 0
    properties: bytes = b""


IN_TABLE = struct.pack("<HB", 0x2416, 1)
ROW_END = struct.pack("<HB", 0x2417, 1)
HEADER = struct.pack("<HB", 0x3404, 1)
ITEM = struct.pack("<HH", 0x460B, 1)
HIDDEN, DELETED = struct.pack("<HB", 0x083C, 1), struct.pack("<HB", 0x0800, 1)
SUPER = struct.pack("<HB", 0x2A48, 1)


def cells(edges: Sequence[int], merges: Sequence[int]) -> bytes:
    """Where the cells of a row have their edges, and whether each begins (3) or goes on from (1) one above."""
    inner = struct.pack(f"<B{len(edges)}h", len(merges), *edges)
    inner += b"".join(struct.pack("<H", merge << 5).ljust(20, b"\x00") for merge in merges)
    return struct.pack("<HH", 0xD608, len(inner) + 1) + inner


def word(
    paragraphs: Sequence[Par], notes: Sequence[Par] = (), *, flags: int = 0, version: int = 0x00D9
) -> bytes:
    first = 2048
    text, at = "", first
    paragraph_runs: list[tuple[int, int, bytes]] = []
    character_runs: list[tuple[int, int, bytes]] = []
    for par in [*paragraphs, *notes]:
        begin = at
        for run, properties in [*par.runs, (par.end, b"")]:
            text += run
            character_runs.append((at, at + 2 * len(run), properties))
            at += 2 * len(run)
        paragraph_runs.append((begin, at, struct.pack("<H", par.style) + par.properties))
    body = text.encode("utf-16-le")
    pages = -(-(first + len(body)) // _SECTOR)
    main = bytearray(first) + body.ljust(pages * _SECTOR - first, b"\x00")
    marks, letters = _pages(paragraph_runs, 13), _pages(character_runs, 1)
    main += b"".join(page for _, page in [*marks, *letters])
    styles = _styles()
    pieces = b"\x02" + struct.pack("<IIIHIH", 16, 0, len(text), 0, first, 0)
    indexes = [_index(marks, at, pages), _index(letters, at, pages + len(marks))]
    parts = {1: styles, 13: indexes[0], 12: indexes[1], 33: pieces}
    struct.pack_into("<HH", main, 0, 0xA5EC, version)
    struct.pack_into("<H", main, 10, 0x0200 | flags)
    size = sum(len(run) for par in notes for run, _ in par.runs) + sum(len(par.end) for par in notes)
    struct.pack_into("<ii", main, 0x4C, len(text) - size, size)
    place = 0
    for number, part in parts.items():
        struct.pack_into("<II", main, 154 + 8 * number, place, len(part))
        place += len(part)
    return ole({"WordDocument": bytes(main), "1Table": b"".join(parts.values())})


def _pages(runs: Sequence[tuple[int, int, bytes]], width: int) -> list[tuple[int, bytes]]:
    """Pages of a few runs each, with the place of the first."""
    return [(runs[at][0], _page(runs[at : at + 4], width)) for at in range(0, len(runs), 4)]


def _index(pages: Sequence[tuple[int, bytes]], end: int, first: int) -> bytes:
    numbers = range(first, first + len(pages))
    return struct.pack(f"<{2 * len(pages) + 1}I", *(start for start, _ in pages), end, *numbers)


def _page(runs: Sequence[tuple[int, int, bytes]], width: int) -> bytes:
    """A page of formatted runs: places, then where each one's properties lie, which fill it from its end."""
    page = bytearray(_SECTOR)
    page[-1] = len(runs)
    struct.pack_into(f"<{len(runs) + 1}I", page, 0, *(start for start, _, _ in runs), runs[-1][1])
    base, free = 4 * (len(runs) + 1), _SECTOR - 1
    for n, (_, _, properties) in enumerate(runs):
        if width == 13:
            padded = properties + bytes(len(properties) % 2)
            stored = bytes([0, len(padded) // 2]) + padded
        else:
            stored = bytes([len(properties)]) + properties
        free = (free - len(stored)) & ~1
        assert free > base + width * len(runs), "one page"
        page[free : free + len(stored)] = stored
        page[base + width * n] = free // 2
    return bytes(page)


def _styles() -> bytes:
    """Normal, two headings, one that is based on the second, and the title."""
    own = [(0, 0xFFF), (1, 0), (2, 0), *[(0xFFE, 0xFFF)] * 7, (0xFFE, 2), (62, 0)]
    entries = b"".join(struct.pack("<HHHHHHH", 12, number, base << 4, 0, 0, 0, 0) for number, base in own)
    return struct.pack("<HHH", 4, len(own), 10) + entries


# Workbooks


def workbook(sheets: Mapping[str, tuple[Sequence[Sequence[object]], bool]]) -> bytes:
    """Sheets as their rows, and whether they are hidden (BIFF8)."""
    bodies = [_sheet(rows) for rows, _ in sheets.values()]
    names = list(sheets)
    head_size = 20 + sum(4 + 8 + len(name) for name in names) + 4
    at, bound = head_size, b""
    for name, body in zip(names, bodies, strict=True):
        hidden = int(sheets[name][1])
        bound += _record(0x85, struct.pack("<IBBBB", at, hidden, 0, len(name), 0) + name.encode("ascii"))
        at += len(body)
    return ole({"Workbook": _begin(0x0005) + bound + _record(0x0A, b"") + b"".join(bodies)})


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _begin(kind: int) -> bytes:
    return _record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))


def _sheet(rows: Sequence[Sequence[object]]) -> bytes:
    records = b""
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            place = struct.pack("<HHH", row, column, 0)
            if isinstance(value, str):
                records += _record(
                    0x0204, place + struct.pack("<HB", len(value), 0) + value.encode("latin-1")
                )
            else:
                records += _record(0x0203, place + struct.pack("<d", value))
    return _begin(0x0010) + records + _record(0x0A, b"")
