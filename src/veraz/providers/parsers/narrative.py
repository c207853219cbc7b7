"""Marked-up text of an XML vocabulary, written by the walk that reads pages: its elements are renamed to those of HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from veraz.providers.parsers import html
from veraz.providers.parsers.fields import Stated
from veraz.providers.parsers.writing import Writer
from veraz.providers.parsers.xmltree import Element, name_of
from veraz.text.decode import storable

_KEPT = frozenset(
    {
        "rowspan",
        "colspan",
        "scope",
        "style",
        "hidden",
        "aria-hidden",
        "alt",
        "start",
        "role",
        "alttext",
        "encoding",
    }
)


@dataclass(slots=True)
class Reading:
    """What a vocabulary is read into: the text as it is written, and what the document states about itself."""

    media: str
    out: Writer = field(default_factory=Writer)
    left: html.Left = field(default_factory=html.Left)
    title: str = ""
    stated: Stated = field(default_factory=lambda: Stated())
    warnings: list[str] = field(default_factory=list)
    codes: dict[str, str] = field(default_factory=dict)  # of sections, by their `ord`

    def heading(self, level: int, title: str, code: str = "") -> bool:
        """Whether there was a word to write."""
        before = len(self.out.headings)
        self.out.heading(level, title)
        written = len(self.out.headings) > before
        if written and code:
            self.codes[str(len(self.out.headings))] = code
        return written

    def narrative(self, element: Element, level: int, tags: Mapping[str, str] | None = None) -> None:
        """The text of `element`, which is changed by it. `tags` says which element of HTML each one is; the others run on as
        they are."""
        html.write(to_html(element, tags or {}), self.out, self.left, level=level)

    def paragraph(self, text: str) -> None:
        self.out.block("paragraph", text)


def to_html(element: Element, tags: Mapping[str, str]) -> str:
    tail, element.tail = element.tail, None
    for part in element.iter(etree.Element):
        name = name_of(part)
        part.tag = tags.get(name, name)
        for key in [key for key in part.attrib if str(key) not in _KEPT]:
            del part.attrib[key]
        if name == "img" and part.get("alt") == "":
            del part.attrib["alt"]  # a tool left it empty: here it does not say that the image is decoration
    element.tag = "div"
    etree.cleanup_namespaces(element)
    source = etree.tostring(element, encoding="unicode", method="html")
    element.tail = tail
    return _RUN_TOGETHER.sub(_apart, storable(source)[0])


_RUN_TOGETHER = re.compile(
    r"([^\W\d_]{2})((?:</?(?:span|em|i|b|strong|u)\b[^<>]*>)+)(?=([^\W\d_]{3}))", re.IGNORECASE
)


def _apart(found: re.Match[str]) -> str:
    """`por</span><em>Pneumocystis`: two words that the markup ran together, where a small letter meets a capitalised word. mRNA,
    eGFR and pH, and what changes its style inside a word, stay whole."""
    before, marks, after = found.groups()
    return (
        f"{before} {marks}" if before.islower() and after[0].isupper() and after[1:].islower() else found[0]
    )
