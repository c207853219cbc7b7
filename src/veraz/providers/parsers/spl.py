"""Drug labels as Structured Product Labeling, and other HL7 version 3 documents with a structured body.

Sections bear LOINC codes; https://www.fda.gov/industry/fda-data-standards-advisory-board/structured-product-labeling-resources
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from lxml import etree

from veraz.providers.parsers.fields import language_code
from veraz.providers.parsers.label_titles import without_notice
from veraz.providers.parsers.narrative import Reading
from veraz.providers.parsers.xmltree import Element, attribute, child, children, descendants, name_of, words
from veraz.text.dates import parse_date
from veraz.text.decode import storable

_TAGS = {
    "paragraph": "p", "content": "span", "linkHtml": "a", "item": "li", "sup": "sup", "sub": "sub", "br": "br",
    "caption": "strong", "renderMultiMedia": "img", "footnoteRef": "span", "footnote": "span",
}  # fmt: skip
_UNCLASSIFIED = "42229-5"
_PRODUCT_DATA = "48780-1"
_HEADINGS = {
    "48780-1": "Product data", "34066-1": "Boxed warning", "34067-9": "Indications & usage", "34068-7": "Dosage & administration",
    "43678-2": "Dosage forms & strengths", "34070-3": "Contraindications", "43685-7": "Warnings and precautions",
    "34071-1": "Warnings", "42232-9": "Precautions", "34084-4": "Adverse reactions", "34073-7": "Drug interactions",
    "43684-0": "Use in specific populations", "42228-7": "Pregnancy", "34080-2": "Nursing mothers", "77290-5": "Lactation",
    "34081-0": "Pediatric use", "34082-8": "Geriatric use", "34088-5": "Overdosage", "34089-3": "Description",
    "34090-1": "Clinical pharmacology", "34092-7": "Clinical studies", "34069-5": "How supplied",
    "34076-0": "Information for patients", "42231-1": "Medication guide", "51945-4": "Package label",
    "43683-2": "Recent major changes", "55105-1": "Purpose", "55106-9": "Active ingredient", "50565-1": "Keep out of reach",
}  # fmt: skip
"""For labels that name a section by its code alone."""


def read(root: Element) -> Reading:
    found = Reading("spl" if name_of(root) == "document" else "cda")
    lines = _lines(child(root, "title"))
    products = _products(root)
    found.title = _title(lines, products)
    _identify(found, root, products)
    for line in lines:
        found.paragraph(line)
    label = _Label(found, root)
    body = child(root, "component", "structuredBody")
    for section in _sections(body):
        label.section(section, 1, "")
    if body is None:
        _other_body(found, child(root, "component", "nonXMLBody", "text"))
    return found


def _other_body(found: Reading, text: Element | None) -> None:
    """A body that is text is read; one that is a file inside the file is not."""
    if text is not None and attribute(text, "mediaType") in ("", "text/plain"):
        found.paragraph(words(text))
    else:
        found.warnings.append("it has no body of sections: what it carries was left out")


def _sections(holder: Element | None) -> Iterator[Element]:
    if holder is not None:
        for component in children(holder, "component"):
            yield from children(component, "section")


class _Label:
    """Writes the sections, numbering the footnotes over the whole label."""

    def __init__(self, found: Reading, root: Element) -> None:
        self.found = found
        self.notes: dict[str, int] = {}
        self.count = 0
        self.pictures = {
            attribute(media, "ID"): words(child(media, "text"))
            for media in descendants(root, "observationMedia")
        }

    def section(self, section: Element, level: int, above: str, *, first: bool = True) -> None:
        """A section without a name goes on under that above it: right below it as it is, later under its name once more."""
        code = attribute(child(section, "code"), "code")
        heading = _heading(section, code)
        if not heading and not first and above:
            heading, level = above, level - 1
        below = level + self.found.heading(level, heading, code)
        if code == _PRODUCT_DATA:
            _write_products(self.found, section)
        self._text(child(section, "text"), below - 1)
        self._highlights(section, below, code)
        inner_first = True
        for inner in _sections(section):
            headings = len(self.found.out.headings)
            self.section(inner, below, heading or above, first=inner_first)
            inner_first = inner_first and len(self.found.out.headings) == headings

    def _highlights(self, section: Element, level: int, code: str) -> None:
        for excerpt in children(section, "excerpt"):
            if words(excerpt):
                self.found.heading(level, "Highlights", code)
                for highlight in children(excerpt, "highlight"):
                    self._text(child(highlight, "text"), level)

    def _text(self, text: Element | None, level: int) -> None:
        if text is None:
            return
        self._set_notes(text)
        self._set_pictures(text)
        _set_lists(text)
        self.found.narrative(text, level, _TAGS)

    def _set_notes(self, text: Element) -> None:
        """Each note as a mark where it stands, and its text in a paragraph below that part."""
        for part in list(text):
            notes = list(descendants(part, "footnote"))
            below = text.index(part) + 1 if notes else 0
            for note in notes:
                self.count += 1
                self.notes[attribute(note, "ID")] = self.count
                moved = etree.Element("paragraph")
                moved.text = f"[{self.count}] {words(note)}"
                _replace(note, f"[{self.count}]")
                text.insert(below, moved)
                below += 1
        for mark in list(descendants(text, "footnoteRef")):
            number = self.notes.get(attribute(mark, "IDREF"))
            _replace(mark, f"[{number}]" if number else words(mark))

    def _set_pictures(self, text: Element) -> None:
        for picture in descendants(text, "renderMultiMedia"):
            described = self.pictures.get(attribute(picture, "referencedObject"), "")
            caption = words(child(picture, "caption"))
            for inner in list(picture):
                picture.remove(inner)
            if described or caption:
                picture.set("alt", ": ".join(dict.fromkeys(part for part in (caption, described) if part)))


def _replace(element: Element, words: str) -> None:
    """Its content gives way to a few words; what follows it stays."""
    for inner in list(element):
        element.remove(inner)
    element.text = words


def _set_lists(text: Element) -> None:
    """Ordered lists, their captions above them, and what is bold: HTML has no attribute for these."""
    for found in list(descendants(text, "list")):
        found.tag = "ol" if attribute(found, "listType") == "ordered" else "ul"
        caption, parent = child(found, "caption"), found.getparent()
        if caption is not None and parent is not None and name_of(parent) != "item":
            caption.tag = "p"
            parent.insert(parent.index(found), caption)
        elif caption is not None:
            caption.tag = "li"
    for caption in descendants(text, "caption"):
        above = caption.getparent()
        if above is not None and name_of(above) == "table":
            caption.tag = "_caption"
    for content in descendants(text, "content"):
        if "bold" in attribute(content, "styleCode").lower():
            content.tag = "strong"


_TAGS["_caption"] = "caption"


def _heading(section: Element, code: str) -> str:
    if title := words(child(section, "title")):
        return title
    if code == _UNCLASSIFIED:
        return ""
    return _HEADINGS.get(code) or _named(attribute(child(section, "code"), "displayName"))


def _named(display: str) -> str:
    """What a code is called, in small letters and without the word "section"."""
    name = re.sub(r"\s*section\s*$", "", display, flags=re.I)
    return name.capitalize() if name.isupper() else name


# Products


def _products(root: Element) -> list[Element]:
    """The products themselves, not the packages they come in."""
    found = (
        inner
        for inner in descendants(
            root, "manufacturedProduct", "manufacturedMedicine", "partProduct", "partMedicine"
        )
    )
    return [product for product in found if child(product, "name") is not None]


def _write_products(found: Reading, section: Element) -> None:
    written: set[str] = set()
    for product in _products(section):
        lines = [
            f"{_product_name(product)}, {attribute(child(product, 'formCode'), 'displayName').lower()}".strip(
                ", "
            )
        ]
        for kind, codes in (("Active", ("ACTIB", "ACTIM", "ACTIR", "ACTI")), ("Inactive", ("IACT", "INGR"))):
            named = [text for text in _ingredients(product, codes) if text]
            lines += [f"{kind} ingredients: {'; '.join(named)}"] if named else []
        text = "\n".join(lines)
        if text not in written:
            found.paragraph(text)
        written.add(text)


def _ingredients(product: Element, codes: tuple[str, ...]) -> Iterator[str]:
    for ingredient in children(product, "ingredient", "activeIngredient", "inactiveIngredient"):
        own = {"activeIngredient": "ACTIB", "inactiveIngredient": "IACT"}.get(name_of(ingredient), "")
        if (attribute(ingredient, "classCode") or own) in codes:
            name = next(
                (
                    words(child(part, "name"))
                    for part in children(ingredient)
                    if child(part, "name") is not None
                ),
                "",
            )
            yield " ".join(part for part in (name, _strength(child(ingredient, "quantity"))) if part)


def _strength(quantity: Element | None) -> str:
    """ "40 mg / 0.8 mL"; a strength in one unit of the product is said alone."""
    over, under = (_quantity(child(quantity, side)) for side in ("numerator", "denominator"))
    return over if not under or under == "1" else f"{over} / {under}"


def _quantity(element: Element | None) -> str:
    value, unit = attribute(element, "value"), attribute(element, "unit")
    return f"{value} {unit}" if value and unit not in ("", "1") else value


def _product_name(product: Element) -> str:
    named = child(product, "name")
    name = " ".join(" ".join(map(str, named.itertext())).split()) if named is not None else ""
    generics = [words(child(g, "name")) for g in descendants(product, "genericMedicine")]
    generic = next(filter(None, generics), "")
    return f"{name} ({generic})" if generic and generic.casefold() != name.casefold() else name


# What the document is


def _lines(title: Element | None) -> list[str]:
    if title is None:
        return []
    for broken in descendants(title, "br"):
        broken.tail = "\n" + (broken.tail or "")
    text = "".join(map(str, title.itertext()))
    # one line of source may be wrapped for its width: only <br/> parts
    if child(title, "br") is None:
        text = " ".join(text.split())
    return [storable(line)[0] for part in text.split("\n") if (line := " ".join(part.split()))]


def _title(lines: list[str], products: list[Element]) -> str:
    """The document's own, without the sentence that every label begins with, and with the product's name in it."""
    own = next(filter(None, map(without_notice, lines)), "")
    product = storable(_product_name(products[0]))[0] if products else ""
    if not own or not product:
        return own or product or (lines[0] if lines else "")
    brand = product.partition(" (")[0]
    return own if brand.casefold() in own.casefold() else f"{product}: {own}"


def _identify(found: Reading, root: Element, products: list[Element]) -> None:
    """`setId` is that of all versions of a label, `effectiveTime` the day on which this one was last revised."""
    stated = found.stated
    stated["item"] = attribute(child(root, "setId"), "root") or None
    stated["edition"] = attribute(child(root, "versionNumber"), "value") or None
    stated["document_type"] = attribute(child(root, "code"), "displayName") or None
    stated["lang"] = language_code(attribute(child(root, "languageCode"), "code"))
    organization = child(root, "author", "assignedEntity", "representedOrganization", "name")
    stated["publisher"] = storable(words(organization))[0] or None
    with suppress(ValueError):
        stated["revised_at"] = parse_date(attribute(child(root, "effectiveTime"), "value")[:8])
    names = dict.fromkeys(storable(_product_name(product))[0] for product in products)
    document_id = attribute(child(root, "id"), "root")
    stated["meta"] = {"document_id": document_id, "products": list(names)[:50]}
