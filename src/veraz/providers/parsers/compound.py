"""Compound files (OLE, MS-CFB): the streams at the root of one, by name."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_FREE = 0xFFFFFFFA
"""Sector numbers from here on mean no sector."""
_ENTRY = 128


class Damaged(ValueError):
    """The file contradicts itself."""


class Compound:
    """Every chain of sectors is followed at most once round, and no stream is longer than the file."""

    def __init__(self, payload: bytes) -> None:
        self._bytes = payload
        try:
            self._shift, self._mini_shift = struct.unpack_from("<HH", payload, 0x1E)
            if self._shift not in (9, 12) or self._mini_shift != 6:
                raise Damaged("sectors of an unknown size")
            self._cutoff: int = struct.unpack_from("<I", payload, 0x38)[0]
            self._fat = self._numbers(self._fat_sectors())
            directory = self._chain(struct.unpack_from("<I", payload, 0x30)[0])
            self._entries = [
                directory[at : at + _ENTRY] for at in range(0, len(directory) - _ENTRY + 1, _ENTRY)
            ]
            self._mini_fat = self._mini_numbers()
            self._streams = dict(self._root_streams())
        except (struct.error, IndexError) as error:
            raise Damaged(str(error)) from None

    def __contains__(self, name: str) -> bool:
        return name in self._streams

    def read(self, name: str) -> bytes:
        entry = self._entries[self._streams[name]]
        start, size = struct.unpack_from("<II", entry, 116)
        if size >= self._cutoff:
            return self._chain(start)[:size]
        mini = self._chain(struct.unpack_from("<I", self._entries[0], 116)[0])
        width = 1 << self._mini_shift
        return b"".join(mini[n * width : (n + 1) * width] for n in _followed(self._mini_fat, start))[:size]

    def _sector(self, number: int) -> bytes:
        at = (number + 1) << self._shift
        return self._bytes[at : at + (1 << self._shift)]

    def _chain(self, start: int) -> bytes:
        return b"".join(map(self._sector, _followed(self._fat, start)))

    def _fat_sectors(self) -> list[int]:
        found = list(struct.unpack_from("<109I", self._bytes, 0x4C))
        following = struct.unpack_from("<I", self._bytes, 0x44)[0]
        for _ in range(len(self._bytes) >> self._shift):
            if following >= _FREE or len(found) > len(self._bytes) >> self._shift:
                break
            numbers = self._numbers([following])
            found += numbers[:-1]
            following = numbers[-1]
        return [number for number in found if number < _FREE]

    def _numbers(self, sectors: list[int]) -> list[int]:
        data = b"".join(map(self._sector, sectors))
        return list(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))

    def _mini_numbers(self) -> list[int]:
        data = self._chain(struct.unpack_from("<I", self._bytes, 0x3C)[0])
        return list(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))

    def _root_streams(self) -> Iterator[tuple[str, int]]:
        """Those of the root alone: what is embedded has streams of the same names."""
        todo, seen = [struct.unpack_from("<I", self._entries[0], 76)[0]], {0}
        while todo:
            at = todo.pop()
            if at in seen or at >= len(self._entries):
                continue
            seen.add(at)
            entry = self._entries[at]
            length = struct.unpack_from("<H", entry, 64)[0]
            yield entry[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace"), at
            todo += struct.unpack_from("<II", entry, 68)


def _followed(table: list[int], start: int) -> Iterator[int]:
    for _ in range(len(table)):
        if start >= len(table):
            return
        yield start
        start = table[start]
