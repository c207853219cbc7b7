"""Electronic books (EPUB 2 and 3): their chapters in the order of the spine."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree

from veraz.nouns.corpus import ParsedDocument
from veraz.providers.parsers import html
from veraz.providers.parsers.fields import Stated, language_code
from veraz.providers.parsers.file import document, refused
from veraz.providers.parsers.writing import Writer
from veraz.providers.parsers.zipped import Package
from veraz.text.dates import parse_date
from veraz.text.decode import NotText, decode, storable

VERSION = "epub/1"

_DC = "{http://purl.org/dc/elements/1.1/}"
_EVENT = "{http://www.idpf.org/2007/opf}event"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_EMPTY = re.compile(r"<([A-Za-z][\w.-]*)(\s[^<>]*?)?\s*/>")
# In a book these hold notes and the titles of chapters; on a page of the web, what stands around the text.
_FURNITURE = re.compile(r"<(/?)(?:aside|header|footer)(?=[\s>])", re.I)


def read(package: Package, _main: str) -> ParsedDocument:
    """`_main` is not used: the container says where the book's own description is."""
    book = _Book(package)
    out = Writer()
    silent: list[str] = []
    notes: list[str] = []
    for name in book.spine():
        made = html.outline(book.text(name, notes))
        if made.blank:
            silent.append(posixpath.basename(name))
        out.append(made)
    if silent:
        shown = ", ".join(silent[:3]) + (", …" if len(silent) > 3 else "")
        notes.append(
            f"{len(silent)} part{'s' * (len(silent) > 1)} of the book without text left out ({shown})"
        )
    return document(
        package.item,
        out.outline(),
        VERSION,
        title=book.title(),
        stated=book.stated(),
        warnings=notes,
        media="epub",
    )


class _Book:
    def __init__(self, package: Package) -> None:
        self.package = package
        container = package.xml(_CONTAINER) if _CONTAINER in package else None
        root = container.find(".//{*}rootfile") if container is not None else None
        self.name = root.get("full-path", "") if root is not None else ""
        if not self.name:
            raise refused(
                package.item, "an EPUB without a description of its parts", "export or download it again"
            )
        self.root = package.xml(self.name)

    def spine(self) -> Iterator[str]:
        """Parts in reading order, without the table of contents."""
        manifest = {node.get("id", ""): node for node in self.root.iterfind("{*}manifest/{*}item")}
        encrypted = self._encrypted()
        for reference in self.root.iterfind("{*}spine/{*}itemref"):
            node = manifest.get(reference.get("idref", ""))
            if node is None or "nav" in node.get("properties", "").split():
                continue
            name = posixpath.normpath(
                posixpath.join(posixpath.dirname(self.name), unquote(node.get("href", "")))
            )
            if name in encrypted:
                raise refused(
                    self.package.item,
                    "encrypted (digital rights management)",
                    "use a copy without protection",
                )
            if "html" in node.get("media-type", "") or name.lower().endswith((".xhtml", ".html", ".htm")):
                yield name

    def _encrypted(self) -> frozenset[str]:
        """Parts that are encrypted; fonts often are, in books that can be read."""
        if _ENCRYPTION not in self.package:
            return frozenset()
        nodes = self.package.xml(_ENCRYPTION).iter("{*}CipherReference")
        return frozenset(unquote(node.get("URI", "")) for node in nodes)

    def text(self, name: str, notes: list[str]) -> str:
        if name not in self.package:
            notes.append(f"the part {name} is missing")
            return ""
        try:
            found = decode(self.package.read(name), html=True)
        except NotText as error:
            raise refused(self.package.item, f"the part {name}: {error}", "export the book again") from None
        return _FURNITURE.sub(r"<\1div", _EMPTY.sub(_opened, found.text))

    # What the book states

    def _values(self, name: str) -> list[etree._Element]:
        return self.root.findall(f"{{*}}metadata//{_DC}{name}")

    def _first(self, name: str) -> str:
        return next((words for node in self._values(name) if (words := _words(node))), "")

    def title(self) -> str:
        return self._first("title")

    def stated(self) -> Stated:
        stated: Stated = {"lang": language_code(self._first("language"))}
        if publisher := self._first("publisher"):
            stated["publisher"] = publisher
        for node in self._values("date"):
            if node.get(_EVENT, "publication") in ("publication", "original-publication"):
                _put_date(stated, _words(node))
        return stated


def _put_date(stated: Stated, written: str) -> None:
    try:
        stated["published_at"] = parse_date(written.partition("T")[0])
    except ValueError:
        return


def _words(node: etree._Element) -> str:
    return " ".join(storable("".join(map(str, node.itertext())))[0].split())


def _opened(match: re.Match[str]) -> str:
    """`<title/>` as HTML reads it: an element that is never closed, unless written in full."""
    tag, attributes = match[1], match[2] or ""
    return match[0] if tag.lower() in _VOID else f"<{tag}{attributes}></{tag}>"
