"""HL7 FHIR in XML: Compositions (electronic product information, and other documents) with their sections, and the narrative of
other resources. http://hl7.org/fhir/composition.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date

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
from veraz.text.dates import parse_date
from veraz.text.decode import storable

_SMPC_NAME = "200000029792"
"""Of the EMA's section codes that of "1. Name of the medicinal product"."""
_WITHOUT_TEXT = frozenset({"List", "OperationOutcome", "Provenance"})


def read(root: Element) -> Reading:
    """One document of all Compositions in a Bundle; where there are none, of the narrative of its resources.

    Raises Refused for resources that hold data alone."""
    found = Reading("fhir")
    resources = list(_resources(root))
    compositions = [resource for resource in resources if name_of(resource) == "Composition"]
    found.title = _title(resources, compositions)  # before the narratives are renamed
    for composition in compositions:
        _composition(found, composition)
    others = [resource for resource in resources if name_of(resource) != "Composition"]
    if not compositions:
        _narratives(found, others)
        if not found.out.size:
            raise Refused(
                f"FHIR resources without a narrative: {_counted(others)}",
                "export them with their text, or leave them out",
            )
    _identify(found, root, compositions)
    return found


def _resources(root: Element) -> Iterator[Element]:
    """Of a Bundle and the Bundles in it, in their order; of anything else, itself."""
    if name_of(root) != "Bundle":
        yield root
        return
    for entry in children(root, "entry"):
        for holder in children(entry, "resource"):
            for resource in children(holder):
                yield from _resources(resource)


def _value(element: Element | None, *path: str) -> str:
    return storable(attribute(child(element, *path), "value"))[0]


# Compositions


def _composition(found: Reading, composition: Element) -> None:
    status = _value(composition, "status")
    title = _value(composition, "title")
    if status in ("entered-in-error", "cancelled", "deprecated"):
        found.warnings.append(f"{title or 'a composition'} has the status {status}")
    sections = list(children(composition, "section"))
    # A first section that repeats the title is what a printed document has as its title.
    nested = len(sections) == 1 and _value(sections[0], "title").casefold() == title.casefold()
    level = 0 if nested else int(found.heading(1, title, _code(composition, "type")))
    text = child(composition, "text")
    if not sections or _value(text, "status") in ("additional", "extensions"):
        _text(found, text, max(level, 1))
    for section in sections:
        _section(found, section, level + 1)


def _section(found: Reading, section: Element, level: int) -> None:
    title = (
        _value(section, "title")
        or _value(section, "code", "text")
        or _value(section, "code", "coding", "display")
    )
    below = level + found.heading(level, title, _code(section, "code"))
    _text(found, child(section, "text"), below - 1)
    for inner in children(section, "section"):
        _section(found, inner, below)


def _text(found: Reading, text: Element | None, level: int) -> bool:
    """Whether there was a narrative. `level` is that of the heading above it."""
    div = child(text, "div")
    if div is None or _value(text, "status") == "empty":
        return False
    found.narrative(div, level)
    return True


def _code(element: Element, name: str) -> str:
    return _value(element, name, "coding", "code")


# Other resources


def _narratives(found: Reading, resources: list[Element]) -> None:
    silent: list[Element] = []
    for resource in resources:
        div = child(resource, "text", "div")
        if div is None or not words(div) or (name_of(resource) in _WITHOUT_TEXT and len(resources) > 1):
            silent.append(resource)
            continue
        found.heading(1, _called(resource))
        _text(found, child(resource, "text"), 1)
    if silent and found.out.size:
        found.warnings.append(f"resources without a narrative left out: {_counted(silent)}")


def _called(resource: Element) -> str:
    title = _value(resource, "title") or _value(resource, "name")
    return title or " ".join(part for part in (name_of(resource), _value(resource, "id")) if part)


def _counted(resources: list[Element]) -> str:
    counts = Counter(map(name_of, resources))
    return ", ".join(f"{count} {name}" for name, count in counts.most_common(6)) or "an empty Bundle"


# What the document is


def _identify(found: Reading, root: Element, compositions: list[Element]) -> None:
    """The identifier of a Composition is that of all its versions, `version` (R5) that of one."""
    meta: dict[str, object] = {}
    stated = found.stated
    if profile := _value(root, "id"):
        meta["fhir_id"] = profile
    langs = {language_code(_value(c, "language")) for c in compositions} or {
        language_code(_value(root, "language"))
    }
    stated["lang"] = langs.pop() if len(langs) == 1 else None
    stated["revised_at"] = max(filter(None, map(_date, compositions)), default=None)
    if len(compositions) == 1:
        stated["item"] = _value(compositions[0], "identifier", "value") or None
        stated["edition"] = _value(compositions[0], "version") or None
        stated["document_type"] = _value(compositions[0], "type", "coding", "display") or None
    elif compositions:
        meta["document_types"] = [_value(c, "type", "coding", "display") for c in compositions]
    for listed in descendants(root, "List"):
        if number := _value(listed, "identifier", "value"):
            meta["list_identifier"] = number
    stated["meta"] = meta


def _date(composition: Element) -> date | None:
    """The day of a Composition's date; None where it states a month or a year alone."""
    try:
        return parse_date(_value(composition, "date"))
    except ValueError:
        return None


def _title(resources: list[Element], compositions: list[Element]) -> str:
    """What the document is about, and what it says: the medicine's name where the document states it as such."""
    titles = list(dict.fromkeys(filter(None, (_value(c, "title") for c in compositions))))
    product = _product(resources, compositions)
    if not product:
        return titles[0] if titles else (_called(resources[0]) if len(resources) == 1 else "")
    if len(titles) == 1 and product.casefold() not in titles[0].casefold():
        return f"{product}: {titles[0]}"
    return product


def _product(resources: list[Element], compositions: list[Element]) -> str:
    for resource in resources:
        if name_of(resource) == "MedicinalProductDefinition":
            return _value(resource, "name", "productName")
    for composition in compositions:
        for section in descendants(composition, "section"):
            if _code(section, "code") == _SMPC_NAME:
                return _first_line(section)
    return ""


def _first_line(section: Element) -> str:
    div = child(section, "text", "div")
    lines = (words(part) for part in div) if div is not None else ()
    return next((storable(line)[0][:200] for line in lines if line.strip("\xa0 ")), "")
