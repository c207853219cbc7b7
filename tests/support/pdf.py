"""Small PDF files written by hand, so that a test says exactly what stands where. Points from the upper left corner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 600, 800


@dataclass(slots=True)
class Page:
    marks: list[str] = field(default_factory=list)
    rotate: int = 0
    note: str = ""

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 11,
        font: str = "F1",
        angle: int = 0,
        mode: int = 0,
    ) -> Page:
        """Fonts: F1 regular, F2 bold, F3 fixed pitch, F4 with the document's own `letters`."""
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        shown = words.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")
        place = f"{cos:.4f} {sin:.4f} {-sin:.4f} {cos:.4f} {x} {HEIGHT - y}"
        self.marks.append(f"BT /{font} {size} Tf {mode} Tr {place} Tm ({shown.decode('latin-1')}) Tj ET")
        return self

    def lines(
        self, x: float, y: float, *lines: str, size: float = 11, font: str = "F1", step: float = 13
    ) -> Page:
        for n, line in enumerate(lines):
            self.text(x, y + n * step, line, size, font)
        return self

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> Page:
        self.marks.append(f"0.5 w {x0} {HEIGHT - y0} m {x1} {HEIGHT - y1} l S")
        return self

    def area(self, x: float, y: float, width: float, height: float, grey: float = 0.8) -> Page:
        self.marks.append(f"{grey} g {x} {HEIGHT - y - height} {width} {height} re f 0 g")
        return self

    def dot(self, x: float, y: float, size: float = 4, paint: str = "f") -> Page:
        """A disc of curves, its middle at the place. `paint`: f filled, S only its outline, n nothing."""
        r, y = size / 2, HEIGHT - y
        k = 0.55 * r
        self.marks.append(
            f"{x - r} {y} m {x - r} {y + k} {x - k} {y + r} {x} {y + r} c {x + k} {y + r} {x + r} {y + k} {x + r} {y} c "
            f"{x + r} {y - k} {x + k} {y - r} {x} {y - r} c {x - k} {y - r} {x - r} {y - k} {x - r} {y} c h {paint}"
        )
        return self

    def picture(self, x: float, y: float, size: float = 4) -> Page:
        """A grey square that is an image, its middle at the place."""
        place = f"{size} 0 0 {size} {x - size / 2} {HEIGHT - y - size / 2}"
        self.marks.append(f"q {place} cm BI /W 1 /H 1 /BPC 8 /CS /G ID @ EI Q")
        return self

    def grid(self, xs: Sequence[float], ys: Sequence[float]) -> Page:
        for x in xs:
            self.rule(x, ys[0], x, ys[-1])
        for y in ys:
            self.rule(xs[0], y, xs[-1], y)
        return self

    def cells(
        self, xs: Sequence[float], ys: Sequence[float], rows: Sequence[Sequence[str]], font: str = "F1"
    ) -> Page:
        """Words in the cells of a grid, the first row in bold."""
        for y, row in zip(ys, rows, strict=False):
            for x, cell in zip(xs, row, strict=False):
                if cell:
                    self.text(x + 4, y + 14, cell, font="F2" if y == ys[0] else font)
        return self


def build(
    *pages: Page,
    title: str = "",
    lang: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    letters: Mapping[str, str] | None = None,
) -> bytes:
    """The file. `bookmarks` are titles with their page, from 1; `letters` says what the characters of font F4 mean."""
    objects: dict[int, bytes] = {}
    base = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier", "F4": "Helvetica"}
    for n, (name, font) in enumerate(base.items(), 3):
        meaning = " /ToUnicode 8 0 R" if name == "F4" else ""
        objects[n] = (
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding{meaning} >>".encode()
        )
    objects[7] = f"<< /Title ({title}) >>".encode("latin-1") if title else b"<< >>"
    objects[8] = _stream(_meaning(letters or {}))
    fonts = " ".join(f"/{name} {n} 0 R" for n, name in enumerate(base, 3))
    kids = []
    for n, page in enumerate(pages):
        at = 20 + 3 * n
        kids.append(f"{at} 0 R")
        notes = f" /Annots [{at + 2} 0 R]" if page.note else ""
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Rotate {page.rotate}{notes} "
            f"/Contents {at + 1} 0 R /Resources << /Font << {fonts} >> >> >>"
        ).encode()
        objects[at + 1] = _stream("\n".join(page.marks).encode("latin-1"))
        if page.note:
            objects[at + 2] = (
                f"<< /Type /Annot /Subtype /Text /Rect [10 10 30 30] /Contents ({page.note}) >>".encode()
            )
    objects[2] = f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(kids)}] >>".encode()
    outlines = " /Outlines 9 0 R" if bookmarks else ""
    stated = f" /Lang ({lang})" if lang else ""
    objects[1] = f"<< /Type /Catalog /Pages 2 0 R{outlines}{stated} >>".encode()
    first = 1000
    for n, (name, page_number) in enumerate(bookmarks):
        after = f" /Next {first + n + 1} 0 R" if n + 1 < len(bookmarks) else ""
        target = f"/Dest [{20 + 3 * (page_number - 1)} 0 R /Fit]"
        objects[first + n] = f"<< /Title ({name}) /Parent 9 0 R {target}{after} >>".encode("latin-1")
    if bookmarks:
        last = first + len(bookmarks) - 1
        objects[9] = (
            f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(bookmarks)} >>".encode()
        )
    return file_of(objects)


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _meaning(letters: Mapping[str, str]) -> bytes:
    """A ToUnicode map."""
    pairs = "".join(
        f"<{ord(code):02x}> <{meaning.encode('utf-16-be').hex()}>\n" for code, meaning in letters.items()
    )
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        "1 begincodespacerange <00> <ff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{pairs}endbfchar endcmap end end"
    ).encode()


def file_of(objects: Mapping[int, bytes]) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n"
    for number, place in places.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(objects) + 1
    out += b"trailer << /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return bytes(out)
