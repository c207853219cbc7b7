"""Parsers: one file a format. Each turns a RawItem into a ParsedDocument, or raises ItemError.

To add a format: a module with a class that has `parse`, a medium in `nouns.corpus.Media`, its suffixes and first bytes in
`ingest/formats.py`, and a line in `_PARSERS`. A parser hands `file.document` an Outline (text, headings, blocks), which a
`Writer` makes for formats that hold no text as such; sections are made from it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from veraz.errors import ItemError
from veraz.nouns.corpus import Access, Media, RawItem
from veraz.providers.ocr import OcrMode
from veraz.providers.ports import Parser

PARSERS_VERSION = "5"
"""Raised whenever a parser gives another text, section or block for the same bytes: stored documents are then parsed again."""

SCANS: frozenset[Media] = frozenset({"pdf"})
"""Media that may hold pages without text."""

_PARSERS: Mapping[str, str] = {
    "record": "record:RecordParser",
    "markdown": "markdown:MarkdownParser",
    "html": "html:HtmlParser",
    "text": "plain:PlainParser",
    "pdf": "pdf:PdfParser",
    "package": "package:PackageParser",
    "xml": "xml:XmlParser",
    "csv": "csv:CsvParser",
    "mail": "mail:MailParser",
    "ole": "ole:OleParser",
}


def parser_for(item: RawItem, ocr: OcrMode = "off") -> Parser:
    """The parser of the item's medium. Libraries of a format load when it is first met. `ocr` concerns pages without text."""
    module, _, name = _PARSERS[item.media].partition(":")
    stated = (ocr,) if item.media in SCANS else ()
    try:
        found: Parser = getattr(import_module(f"veraz.providers.parsers.{module}"), name)(*stated)
    except ModuleNotFoundError as error:
        raise ItemError(
            f"files of this kind need the package {error.name}, which is not installed",
            path=item.place,
            external_id=item.external_id,
            stage="parse",
            fix="pip install 'veraz[documents]'",
        ) from None
    return found


def stated_access(item: RawItem) -> Access | None:
    """Who may read a record, read as its parser reads them; None where it states none. Files state theirs in the bytes.

    Raises ItemError (stage "parse") for labels that cannot be read."""
    from veraz.providers.parsers.fields import read_access
    from veraz.providers.parsers.file import located

    try:
        return read_access(item.record or {})
    except ItemError as error:
        raise located(error, item) from None
