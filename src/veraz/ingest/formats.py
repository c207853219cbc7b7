"""What kind of document some bytes are: by their first bytes where these tell, else by the name. Pure.

Contents win over names: a Word file called `notes.txt` is read, and refused, as a Word file.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from veraz.nouns.corpus import Media

SUFFIXES: dict[str, Media] = {
    ".md": "markdown", ".markdown": "markdown", ".mkd": "markdown",
    ".txt": "text", ".text": "text",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "package", ".docm": "package", ".dotx": "package", ".pptx": "package", ".pptm": "package", ".ppsx": "package",
    ".xlsx": "package", ".xlsm": "package", ".epub": "package",
    ".xml": "xml", ".nxml": "xml", ".rss": "xml", ".atom": "xml",
    ".csv": "csv", ".tsv": "csv",
    ".eml": "mail",
    ".doc": "ole", ".dot": "ole", ".xls": "ole", ".ppt": "ole",
}  # fmt: skip
COMPRESSED = ".gz"
READ = ".md .txt .html .pdf .docx .pptx .xlsx .csv .epub .xml .eml .jsonl"

_MARKS: tuple[tuple[bytes, Media], ...] = (
    (b"PK\x03\x04", "package"),
    (b"PK\x05\x06", "package"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
)
_PDF_WITHIN = 1024
"""Readers accept a few bytes before `%PDF-`."""
_XML = re.compile(rb"\s*<\?xml[\s?]")
_HTML = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.I)
_HEAD = 4096


def media_of(name: str, payload: bytes) -> Media | None:
    """None for a name whose suffix says nothing known, over bytes that say nothing either. `name` without any `.gz`."""
    by_bytes = _by_bytes(payload)
    suffix = PurePath(name.lower()).suffix
    by_name = SUFFIXES.get(suffix)
    if by_bytes is not None and not (by_bytes in ("xml", "html") and by_name in ("html", "text", "markdown")):
        return by_bytes
    return by_name if suffix else "text"


def _by_bytes(payload: bytes) -> Media | None:
    head = payload[:_HEAD]
    for mark, media in _MARKS:
        if head.startswith(mark):
            return media
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    text = _ascii(head)
    if _XML.match(text):
        return "html" if _HTML.search(text) else "xml"
    return None


def _ascii(head: bytes) -> bytes:
    """The start of a text file with whatever mark and width its characters have, as far as ASCII goes."""
    return (
        head.removeprefix(b"\xef\xbb\xbf")
        .removeprefix(b"\xff\xfe")
        .removeprefix(b"\xfe\xff")
        .replace(b"\x00", b"")
    )
