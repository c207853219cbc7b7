"""Scans: pages of pictures and nothing else, made from pages of words by drawing them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pypdfium2

from tests.support.pdf import file_of

Picture = npt.NDArray[np.uint8]


def drawn(pdf: bytes, dpi: int = 200) -> list[Picture]:
    """The pages of a file in shades of grey."""
    file = pypdfium2.PdfDocument(pdf)
    try:
        return [np.array(page.render(scale=dpi / 72, grayscale=True).to_numpy()).squeeze() for page in file]
    finally:
        file.close()


def worn(picture: Picture, seed: int = 1, noise: float = 18.0, ground: int = 235) -> Picture:
    """As a scanner gives it: paper that is not white, ink that is not black, grain, and a little blur."""
    grain = np.random.default_rng(seed).normal(0, noise, picture.shape)
    soft = picture.astype(float)
    soft[1:-1, 1:-1] = (
        4 * soft[1:-1, 1:-1] + soft[:-2, 1:-1] + soft[2:, 1:-1] + soft[1:-1, :-2] + soft[1:-1, 2:]
    ) / 8
    return np.clip(40 + soft * (ground - 40) / 255 + grain, 0, 255).astype(np.uint8)


def askew(picture: Picture, degrees: float) -> Picture:
    """The picture turned about its middle, clockwise; what was outside it is white."""
    height, width = picture.shape
    turn = np.radians(degrees)
    y, x = np.indices(picture.shape, dtype=np.float32)
    x, y = x - width / 2, y - height / 2
    from_x = np.rint(x * np.cos(turn) + y * np.sin(turn) + width / 2).astype(int)
    from_y = np.rint(y * np.cos(turn) - x * np.sin(turn) + height / 2).astype(int)
    inside = (from_x >= 0) & (from_x < width) & (from_y >= 0) & (from_y < height)
    return np.where(inside, picture[from_y.clip(0, height - 1), from_x.clip(0, width - 1)], 255).astype(
        np.uint8
    )


def scan(pictures: Sequence[Picture | None], words: Sequence[str] = (), *, width: float = 600) -> bytes:
    """A file of one picture a page, `width` points wide; None stands for a page of the next of the `words` as text."""
    objects: dict[int, bytes] = {
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    }
    texts = iter(words)
    kids = []
    for n, picture in enumerate(pictures):
        at = 20 + 3 * n
        kids.append(f"{at} 0 R")
        if picture is None:
            high, content = 800.0, f"BT /F1 11 Tf 60 700 Td ({next(texts)}) Tj ET"
            resources = "/Font << /F1 3 0 R >>"
        else:
            rows, columns = picture.shape
            high = width * rows / columns
            content, resources = f"q {width} 0 0 {high} 0 0 cm /I Do Q", f"/XObject << /I {at + 2} 0 R >>"
            objects[at + 2] = _stream(
                f"/Type /XObject /Subtype /Image /Width {columns} /Height {rows} /ColorSpace /DeviceGray /BitsPerComponent 8 ",
                picture.tobytes(),
            )
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {high}] /Contents {at + 1} 0 R "
            f"/Resources << {resources} >> >>"
        ).encode()
        objects[at + 1] = _stream("", content.encode("cp1252"))
    objects[2] = f"<< /Type /Pages /Count {len(pictures)} /Kids [{' '.join(kids)}] >>".encode()
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[7] = b"<< >>"
    return file_of(objects)


def _stream(stated: str, content: bytes) -> bytes:
    packed = zlib.compress(content, 1)
    return b"<< %s/Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (
        stated.encode(),
        len(packed),
        packed,
    )


def error_rate(truth: str, read: str) -> float:
    """Characters to change, add or take away (Levenshtein 1966), for each one of the truth; white space counts as one space."""
    a, b = " ".join(truth.split()), " ".join(read.split())
    row = list(range(len(b) + 1))
    for n, char in enumerate(a, 1):
        above, row = row, [n]
        for m, other in enumerate(b, 1):
            row.append(min(above[m] + 1, row[-1] + 1, above[m - 1] + (char != other)))
    return row[-1] / len(a)
