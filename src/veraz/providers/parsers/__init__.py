"""Parsers: one file a format. Each turns a RawItem into a ParsedDocument, or raises ItemError.

To add a format: a module with a class that has `parse`, a medium in `RawItem.media`, its suffixes in
`ingest/discover.py`, and a line in `parser_for`. A parser hands `outline` an Outline (text, headings,
blocks); sections are made from it here.
"""

from __future__ import annotations

from veraz.errors import ItemError
from veraz.nouns.corpus import Access, RawItem
from veraz.providers.ports import Parser

PARSERS_VERSION = "2"
"""Raised whenever a parser gives another text, section or block for the same bytes: stored documents are then parsed again."""


def parser_for(item: RawItem) -> Parser:
    """The parser of the item's medium. Libraries of a format load when it is first met."""
    match item.media:
        case "record":
            from veraz.providers.parsers.record import RecordParser

            return RecordParser()
        case "markdown":
            from veraz.providers.parsers.markdown import MarkdownParser

            return MarkdownParser()
        case "html":
            from veraz.providers.parsers.html import HtmlParser

            return HtmlParser()
        case "text":
            from veraz.providers.parsers.plain import PlainParser

            return PlainParser()


def stated_access(item: RawItem) -> Access | None:
    """Who may read a record, read as its parser reads them; None where it states none. Files state theirs in the bytes.

    Raises ItemError (stage "parse") for labels that cannot be read."""
    from veraz.providers.parsers.fields import read_access
    from veraz.providers.parsers.file import located

    try:
        return read_access(item.record or {})
    except ItemError as error:
        raise located(error, item) from None
