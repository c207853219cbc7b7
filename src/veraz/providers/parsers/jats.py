"""Articles in the Journal Article Tag Suite (JATS, and NLM before it), as PubMed Central and publishers give them.
https://jats.nlm.nih.gov/archiving/tag-library/1.3/
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from lxml import etree

from veraz.providers.parsers.fields import language_code
from veraz.providers.parsers.narrative import Reading
from veraz.providers.parsers.xmltree import (
    Element,
    Refused,
    attribute,
    child,
    children,
    descendants,
    name_of,
    words,
)
from veraz.text.decode import storable

_TAGS = {
    "p": "p", "bold": "strong", "italic": "em", "break": "br", "ext-link": "a", "xref": "span", "list-item": "li",
    "def-list": "dl", "def-item": "div", "term": "dt", "def": "dd", "disp-quote": "blockquote", "verse-group": "blockquote",
    "verse-line": "div", "code": "pre", "preformat": "pre", "disp-formula": "div", "boxed-text": "div", "fig": "div",
    "table-wrap": "div", "fig-group": "div", "supplementary-material": "div", "fn": "div", "fn-group": "div", "attrib": "p",
    "title": "h1", "statement": "div", "tex-math": "span", "alternatives": "span", "sc": "span", "label": "strong",
    "speech": "div", "speaker": "strong", "table-wrap-foot": "div", "question": "div", "answer": "div", "sec": "div",
}  # fmt: skip
_BLOCKS = (
    "table-wrap",
    "fig",
    "supplementary-material",
    "boxed-text",
    "disp-formula",
    "list",
    "def-list",
    "disp-quote",
    "code",
)
_UNREAD = frozenset(
    {
        "ref-list",
        "object-id",
        "permissions",
        "processing-meta",
        "media",
        "journal-meta",
        "contrib-group",
        "bio",
    }
)
_ABSTRACTS = {
    "graphical": "Graphical abstract",
    "teaser": "Teaser",
    "toc": "Teaser",
    "key-points": "Key points",
}
_LICENCE = ("license_ref", "license")


def read(root: Element) -> Reading:
    """An article; several in one file are sections of one document."""
    found = Reading("jats")
    articles = list(descendants(root, "article")) or [root]
    for article in articles:
        if len(articles) > 1:
            found.heading(1, _whole_title(article))
        _article(found, article, int(len(articles) > 1))
    if not found.out.size:
        raise Refused("an article without title, abstract or body", "export it with its text")
    return found


def _meta(article: Element) -> Element | None:
    paths = (("front", "article-meta"), ("book-meta",), ("front-stub",))
    return next((meta for path in paths if (meta := child(article, *path)) is not None), None)


def _title(article: Element) -> Element | None:
    meta = _meta(article)
    return next(descendants(meta, "article-title", "book-title"), None) if meta is not None else None


def _article(found: Reading, article: Element, level: int) -> None:
    text, meta = _Text(found), _meta(article)
    if level == 0:
        _identify(found, article)
        found.title = _whole_title(article)
    for abstract in children(meta, "abstract", "trans-abstract") if meta is not None else ():
        text.part(abstract, level + 1, _abstract_name(abstract))
    for holder in children(article, "body", "book-body", "back", "floats-group", "sub-article", "response"):
        if name_of(holder) in ("sub-article", "response"):
            found.heading(level + 1, _whole_title(holder) or attribute(holder, "article-type"))
            _article(found, holder, level + 1)
        else:
            text.holder(holder, level)
    _warn(found, article, text.pictures)


def _warn(found: Reading, article: Element, pictures: int) -> None:
    if references := sum(1 for _ in descendants(article, "ref")):
        found.warnings.append(f"{references} reference{'s' * (references > 1)} left out")
    if pictures:
        found.warnings.append(
            f"{pictures} figure{'s' * (pictures > 1)}: the picture left out, label and caption kept"
        )


def _whole_title(article: Element) -> str:
    group = child(_meta(article), "title-group")
    parts = [_inline(_title(article)), _inline(child(group, "subtitle"))]
    return ": ".join(part for part in parts if part)


def _abstract_name(abstract: Element) -> str:
    name = _ABSTRACTS.get(attribute(abstract, "abstract-type"), "Abstract")
    lang = attribute(abstract, "lang")
    return f"{name} ({lang})" if lang and name_of(abstract) == "trans-abstract" else name


def _inline(element: Element | None) -> str:
    """A title with what is raised and lowered in it."""
    if element is None:
        return ""
    for note in list(descendants(element, "fn", "xref")):
        _remove(note)
    inner = Reading("")
    inner.narrative(_copy(element), 0, _TAGS)
    return " ".join("".join(inner.out.parts).split())


class _Text:
    """Writes the sections of an article."""

    def __init__(self, found: Reading) -> None:
        self.found = found
        self.pictures = 0

    def holder(self, holder: Element, level: int) -> None:
        """A body, or what stands at its end: sections, and blocks outside of any."""
        names = {
            "ack": "Acknowledgements",
            "glossary": "Glossary",
            "fn-group": "Notes",
            "notes": "Notes",
            "app": "Appendix",
        }
        run: list[Element] = []
        for part in list(children(holder)):
            name = name_of(part)
            if name in ("sec", "app-group", *names):
                self.blocks(run, level)
                run = []
                if name == "app-group":
                    self.holder(part, level)
                else:
                    self.part(part, level + 1, names.get(name, ""))
            elif name not in _UNREAD and name not in ("title", "label"):
                run.append(part)
        self.blocks(run, level)

    def part(self, part: Element, level: int, name: str) -> None:
        """A section; `name` is its heading where it has none."""
        title = _inline(child(part, "title")) or name
        label = words(child(part, "label"))
        heading = f"{label} {title}".strip() if label and not title.startswith(label) else title
        below = level - 1 + self.found.heading(level, heading, attribute(part, "sec-type"))
        self.holder(part, below)

    def blocks(self, run: list[Element], level: int) -> None:
        if not run:
            return
        together = etree.Element("div")
        for block in run:
            block.tail = None
            together.append(block)
        self._prepare(together)
        self.found.narrative(together, level, _TAGS)

    def _prepare(self, text: Element) -> None:
        for unread in list(descendants(text, *_UNREAD, "graphic", "inline-graphic")):
            self.pictures += name_of(unread) == "graphic" and not _has_table(unread)
            _remove(unread)
        for formula in list(descendants(text, "tex-math")):
            _set_tex(formula)
        for wrap in list(descendants(text, "table-wrap")):
            _set_table(wrap)
        for figure in list(descendants(text, "fig", "supplementary-material", "boxed-text", "statement")):
            _set_caption(figure)
        for found in list(descendants(text, "list")):
            found.tag = "ol" if attribute(found, "list-type") == "order" else "ul"
            for label in list(descendants(found, "label")):
                _remove(label)
        for note in list(descendants(text, "fn")):
            _join_label(note)


def _has_table(graphic: Element) -> bool:
    """The picture of a table that is there as one as well."""
    above = graphic.getparent()
    return above is not None and next(descendants(above, "table"), None) is not None


def _set_tex(formula: Element) -> None:
    """The formula alone, without the document that it was set in; where MathML stands beside it, that is left out."""
    text = "".join(map(str, formula.itertext()))
    begin, _, rest = text.partition(r"\begin{document}")
    formula.text = (rest.partition(r"\end{document}")[0] if rest else begin).strip()
    above = formula.getparent()
    for other in (
        list(descendants(above, "math")) if above is not None and name_of(above) == "alternatives" else ()
    ):
        _remove(other)


def _set_table(wrap: Element) -> None:
    """Label and caption as the caption of its (first) table, or above what stands in its place."""
    named = _named(wrap)
    table = next(descendants(wrap, "table"), None)
    if not named:
        return
    caption = etree.Element("caption" if table is not None else "p")
    caption.append(named_parts(named))
    for old in list(children(wrap, "label", "caption")):
        wrap.remove(old)
    (table if table is not None else wrap).insert(0, caption)


def named_parts(parts: list[Element]) -> Element:
    """Label, title and text of a caption in one line."""
    line = etree.Element("span")
    for part in parts:
        part.tag, part.tail = "span", " "
        line.append(part)
    return line


def _named(wrap: Element) -> list[Element]:
    label, caption = child(wrap, "label"), child(wrap, "caption")
    parts = [label] if label is not None and words(label) else []
    return parts + (list(children(caption)) if caption is not None else [])


def _set_caption(figure: Element) -> None:
    named = _named(figure) if name_of(figure) != "boxed-text" else []
    if not named:
        return
    line = etree.Element("p")
    line.append(named_parts(named))
    for old in list(children(figure, "label", "caption")):
        figure.remove(old)
    figure.insert(0, line)


def _join_label(note: Element) -> None:
    """The mark of a note before its first words."""
    label, first = child(note, "label"), child(note, "p")
    if label is not None and first is not None and words(label):
        first.text = f"{words(label)} {first.text or ''}"
        _remove(label)


def _remove(element: Element) -> None:
    """Takes an element out, and leaves what follows it."""
    above, before = element.getparent(), element.getprevious()
    if above is None:
        return
    if element.tail:
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            above.text = (above.text or "") + element.tail
    above.remove(element)


def _copy(element: Element) -> Element:
    return etree.fromstring(etree.tostring(element, with_tail=False))


# What the article is


def _identify(found: Reading, article: Element) -> None:
    stated, front, meta = found.stated, child(article, "front"), _meta(article)
    stated["lang"] = language_code(attribute(article, "lang"))
    if meta is None:
        return
    numbers = {
        attribute(n, "pub-id-type"): storable(words(n))[0] for n in children(meta, "article-id", "book-id")
    }
    if doi := numbers.get("doi"):
        stated["url"] = f"https://doi.org/{doi}"
    stated["document_type"] = attribute(article, "article-type") or None
    stated["license"] = _licence(meta)
    stated["published_at"] = min(_dates(meta), default=None)
    journal = child(front, "journal-meta")
    if journal is not None:
        stated["publisher"] = storable(words(next(descendants(journal, "publisher-name"), None)))[0] or None
        numbers["journal"] = storable(words(next(descendants(journal, "journal-title"), None)))[0]
    kept = ("doi", "pmid", "pmc", "pmcid", "journal")
    stated["meta"] = {key: value for key in kept if (value := numbers.get(key))}
    for related in children(meta, "related-article"):
        if "retract" in attribute(related, "related-article-type"):
            found.warnings.append(f"concerns a retraction: {attribute(related, 'href') or words(related)}")


def _licence(meta: Element) -> str | None:
    for name in _LICENCE:
        for licence in descendants(meta, name):
            stated = words(licence) if name == "license_ref" else attribute(licence, "href")
            link = next(descendants(licence, "ext-link"), None)
            if stated := stated or attribute(link, "href") or attribute(licence, "license-type"):
                return storable(stated)[0]
    return None


def _dates(meta: Element) -> Iterator[date]:
    """The days on which it appeared; a month or a year alone is not completed."""
    for stated in descendants(meta, "pub-date"):
        parts = [words(child(stated, name)) for name in ("year", "month", "day")]
        if all(part.isdecimal() for part in parts):
            try:
                yield date(*map(int, parts))
            except ValueError:
                continue
