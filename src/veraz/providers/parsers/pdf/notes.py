"""What a reader must be told: everything that the text of the document does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from veraz.providers.ocr import OcrMode
from veraz.providers.parsers.pdf.shapes import PageContent


def of_end(payload: bytes) -> str:
    """ "" for a file that ends as it should; a few bytes may follow."""
    whole = b"%%EOF" in payload[-4096:]
    return "" if whole else "the file is cut short: what could be read was read"


_UNSURE = 0.8
"""Confidence of a page below which its reader is warned."""


def of_pages(pages: Sequence[PageContent], mode: OcrMode = "off") -> Iterator[str]:
    if damaged := [page.number for page in pages if page.damaged]:
        yield f"{_pages(damaged)} could not be read: damaged"
    if silent := [page.number for page in pages if page.silent]:
        yield f"{_pages(silent)} {'holds' if len(silent) == 1 else 'hold'} no text{_SILENT[mode]}"
    yield from _recognised(pages)
    if crowded := [page.number for page in pages if page.crowded]:
        yield f"{_pages(crowded)}: too much is drawn to look for ruled tables"
    yield from _counted(pages, "nuls", "NUL character", "removed")
    yield from _counted(pages, "unread", "character", "left out: the font does not say what is meant")
    yield from _counted(pages, "notes", "annotation or form field", "left out", "annotations or form fields")
    yield from _pictures(pages)


_SILENT: Mapping[OcrMode, str] = {
    "off": "; needs OCR: set [ingest] ocr = true",
    "missing": "; OCR is on, and its packages are not installed: pip install 'veraz[ocr]'",
    "here": " that could be recognised",
}


def _recognised(pages: Sequence[PageContent]) -> Iterator[str]:
    seen = [page for page in pages if page.recognised is not None and page.words]
    if seen:
        yield f"text of {_pages([page.number for page in seen])} was recognised, not read"
    for page in seen:
        if page.recognised is not None and page.recognised < _UNSURE:
            yield f"page {page.number} was recognised with little confidence ({page.recognised:.2f}): compare it with the scan"
    yield from _counted(pages, "unsure", "line", "left out: they could not be recognised")


def _counted(
    pages: Sequence[PageContent], name: str, noun: str, done: str, plural: str = ""
) -> Iterator[str]:
    held = [page for page in pages if getattr(page, name)]
    if held:
        count = sum(getattr(page, name) for page in held)
        named = f"{count} {noun if count == 1 else plural or noun + 's'}"
        yield f"{named} on {_pages([page.number for page in held])} {done}"


def _pictures(pages: Sequence[PageContent]) -> Iterator[str]:
    """Pictures on pages with text; one that text lies over is a scan, and that text what it says."""
    held = [page for page in pages if page.pictures and page.words]
    if held:
        count = sum(page.pictures for page in held)
        named = f"{count} picture{'s' * (count > 1)} on {_pages([page.number for page in held])}"
        yield f"{named} {'were' if count > 1 else 'was'} not read"


def _pages(numbers: Sequence[int]) -> str:
    """ "page 2", "pages 2, 5-7": runs made short, and no more than a dozen of them."""
    runs = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        held = [number for _, number in run]
        runs.append(str(held[0]) if len(held) == 1 else f"{held[0]}-{held[-1]}")
    more = f" and {len(runs) - 12} more" if len(runs) > 12 else ""
    return f"page{'s' * (len(numbers) > 1)} {', '.join(runs[:12])}{more}"
