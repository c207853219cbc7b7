"""PDF: the text layer in reading order, with what its layout shows of structure.

A PDF holds characters and lines at places, and seldom says what they are. In order: `reading` takes words and rulings from
PDFium, and `bullets` those that are drawn; `lattice` and `tables` make tables of rulings; `furniture` takes running headers and
footers out; `layout` finds columns and lines; `unruled` tables without rulings; `flow` paragraphs, lists and headings; `written`
writes the text. A page without text is recognised by an OCR engine where there is one (`scans`), else named in a warning; a file
without any text is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from threading import Lock
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers import ocr
from veraz.providers.ocr import OcrMode, Wordless
from veraz.providers.parsers.fields import Stated, language_code
from veraz.providers.parsers.file import document, no_content, refused
from veraz.providers.parsers.label_titles import without_notice
from veraz.providers.parsers.outline import Outline
from veraz.providers.parsers.pdf import notes
from veraz.providers.parsers.pdf.flow import (
    Bookmark,
    Bookmarks,
    blocks_of,
    find_headings,
    usual_of,
    with_captions,
)
from veraz.providers.parsers.pdf.furniture import Sheet, without_furniture
from veraz.providers.parsers.pdf.hyphens import Joiner
from veraz.providers.parsers.pdf.layout import Item, columns_of, lines_of
from veraz.providers.parsers.pdf.reading import read_page
from veraz.providers.parsers.pdf.repair import repairs
from veraz.providers.parsers.pdf.scans import read_scan, settle
from veraz.providers.parsers.pdf.shapes import PageContent, segment, segments_of
from veraz.providers.parsers.pdf.tables import ruled_tables
from veraz.providers.parsers.pdf.unruled import with_tables
from veraz.providers.parsers.pdf.written import write
from veraz.text.decode import storable

VERSION = "pdf/1"
_MAX_PAGES = 5_000
_MAX_BOOKMARKS = 20_000
_PDFIUM = Lock()
"""PDFium is not made for threads."""


class PdfParser:
    """Title and language as the file states them; its dates are those of the file, not of what it says, and are not taken."""

    def __init__(self, mode: OcrMode = "off") -> None:
        self._mode: OcrMode = mode if ocr.installed() else "off" if mode == "off" else "missing"

    def parse(self, item: RawItem) -> ParsedDocument:
        """Raises Wordless where pages are to be recognised elsewhere."""
        payload = item.payload or b""
        if not payload.strip(b"\0 \r\n\t"):
            raise no_content(item)
        with _PDFIUM:
            file, damage = _opened(item, payload)
            with closing(file):
                pages = list(_pages(file, self._mode == "here"))
                marks = Bookmarks.of(_bookmarks(file))
                title, lang = _title(file), _language(file)
        damage = damage or notes.of_end(payload)
        if self._mode == "elsewhere" and (silent := sum(page.silent for page in pages)):
            raise Wordless(silent)
        settle(pages)
        _refuse_wordless(item, pages, damage, self._mode)
        outline, warnings = _outline(pages, marks)
        stated: Stated = {"lang": lang}
        if recognised := _recognised(pages):
            stated["meta"] = {"recognised": recognised}
        return document(
            item,
            outline,
            VERSION,
            title=title or _first_heading(outline),
            stated=stated,
            warnings=(*filter(None, [damage]), *notes.of_pages(pages, self._mode), *warnings),
        )


# Opening


def _opened(item: RawItem, payload: bytes) -> tuple[Any, str]:
    """The open file, and a warning if it had to be repaired. An empty password is what PDFium tries by itself."""
    try:
        return _with_pages(payload), ""
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise refused(item, "the file is locked with a password", "save a copy without it") from None
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise refused(
                item, "the file is encrypted in a way that cannot be read", "save a copy without encryption"
            ) from None
    for again in repairs(payload):
        with suppress(pypdfium2.PdfiumError):
            return _with_pages(again), "the file is damaged: what could be read was read"
    raise refused(
        item,
        "the file is damaged: no page can be found in it",
        "open it in a PDF viewer and save or print it to a new file",
    )


def _with_pages(payload: bytes) -> Any:
    """Raises PdfiumError for a file that cannot be opened or holds no page."""
    file = pypdfium2.PdfDocument(payload)
    if not len(file):
        file.close()
        raise pypdfium2.PdfiumError("no page")
    return file


def _pages(file: Any, recognise: bool) -> Iterator[PageContent]:
    for number in range(1, min(len(file), _MAX_PAGES) + 1):
        try:
            page = file[number - 1]
        except pypdfium2.PdfiumError:
            yield PageContent(number, damaged=True)
            continue
        with closing(page):
            content = read_page(page, number)
            if recognise and content.silent:
                read_scan(page, content, ocr.engine())
            yield content


def _bookmarks(file: Any) -> Iterator[Bookmark]:
    try:
        for mark in islice(file.get_toc(), _MAX_BOOKMARKS):
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            yield Bookmark(mark.get_title(), mark.level + 1, index + 1 if index is not None else 0)
    except pypdfium2.PdfiumError:
        return


_NO_TITLE = (
    "untitled",
    "microsoft word -",
    "microsoft powerpoint -",
    "(anonymous)",
    "powerpoint presentation",
    "document",
    "title",
)


def _title(file: Any) -> str:
    """The title stated, unless a program put something in its place."""
    title = without_notice(" ".join(storable(file.get_metadata_value("Title") or "")[0].split()))
    low = title.casefold()
    by_program = low.startswith(_NO_TITLE[:4]) or low in _NO_TITLE
    named_file = low.endswith(
        (".doc", ".docx", ".pdf", ".indd", ".qxd", ".xls", ".xlsx", ".ppt", ".pptx", ".tex", ".dvi", ".jpg")
    )
    return "" if by_program or named_file or not any(map(str.isalpha, title)) else title[:500]


def _language(file: Any) -> str | None:
    size = pdfium.FPDFCatalog_GetLanguage(file.raw, None, 0)
    if not 2 < size < 200:
        return None
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    pdfium.FPDFCatalog_GetLanguage(file.raw, buffer, size)
    return language_code(bytes(buffer).decode("utf-16-le", "ignore").split("\0")[0])


_POOR = 0.6
"""Confidence below which a scan, taken as a whole, is worth less than nothing."""


def _refuse_wordless(item: RawItem, pages: Sequence[PageContent], damage: str, mode: OcrMode) -> None:
    _refuse_poor(item, pages)
    if any(page.words for page in pages):
        return
    if any(page.drawn for page in pages):
        raise refused(item, *_WORDLESS[mode])
    if damage or any(page.damaged for page in pages):
        raise refused(
            item, "the file is damaged: no page can be read", "open it in a PDF viewer and save it anew"
        )
    raise no_content(item)


def _refuse_poor(item: RawItem, pages: Sequence[PageContent]) -> None:
    """A document of scans alone that the engine is mostly unsure of."""
    seen = [page for page in pages if page.recognised]
    if not seen or any(page.words and page.recognised is None for page in pages):
        return
    sure = [page.recognised or 0.0 for page in seen]
    if (confidence := sum(sure) / len(sure)) < _POOR:
        raise refused(
            item,
            f"a scan too poor to recognise: confidence {confidence:.2f}",
            "scan it again at 300 dots an inch, or type the text",
        )


_WORDLESS: Mapping[OcrMode, tuple[str, str]] = {
    "off": (
        "no text layer: the pages are pictures; needs OCR",
        "set [ingest] ocr = true (after pip install 'veraz[ocr]'), or give it a text layer: `ocrmypdf in.pdf out.pdf`",
    ),
    "missing": (
        "no text layer: the pages are pictures; OCR is on, and its packages are not installed",
        "pip install 'veraz[ocr]'",
    ),
    "here": (
        "no text layer, and no text was recognised on its pages",
        "leave the file out, or check the scan: it is blank, or holds handwriting or pictures only",
    ),
}


def _recognised(pages: Sequence[PageContent]) -> dict[str, Any]:
    """What a revision keeps of it: which pages, by what, and how sure of each."""
    found = {page.number: page.recognised for page in pages if page.recognised is not None and page.words}
    if not found:
        return {}
    sure = [round(confidence or 0.0, 3) for confidence in found.values()]
    return {"pages": list(found), "confidence": sure, "engine": ocr.VERSION}


# Reading


def _outline(pages: Sequence[PageContent], marks: Bookmarks) -> tuple[Outline, list[str]]:
    lines = {page.number: segments_of([word for word in page.words if not word.turned]) for page in pages}
    join = Joiner(line.text for page in lines.values() for line in page)
    sheets = [_sheet(page, join) for page in pages]
    removed = without_furniture(sheets)
    columns = [column for sheet in sheets for column in _columns(sheet, join)]
    usual = usual_of(columns)
    parts = with_captions(blocks_of(columns, usual))
    find_headings(parts, usual, marks)
    outline, warnings = write(parts, len(pages), join)
    if removed:
        warnings.append(f"{removed} running headers, footers and page numbers were left out")
    return outline, warnings


def _sheet(page: PageContent, join: Joiner) -> Sheet:
    tables, words = ruled_tables(page, join)
    turned = [word for word in words if word.turned]
    upright = [word for word in words if not word.turned]
    return Sheet(
        page.number,
        page.width,
        page.height,
        [*tables, *segments_of(upright), *(segment([word]) for word in turned)],
    )


def _columns(sheet: Sheet, join: Joiner) -> Iterator[list[Item]]:
    for number, column in enumerate(columns_of(sheet.items)):
        yield with_tables(lines_of(column, sheet.number, number), join)


def _first_heading(outline: Outline) -> str:
    """The highest heading of the first pages, if it is no number of a longer work."""
    early = [h for h in outline.headings if len(outline.page_starts) < 3 or h.start < outline.page_starts[2]]
    named = [heading for heading in early if not heading.title[:1].isdigit()]
    return min(named, key=lambda heading: heading.level).title if named else ""
