"""RSS and Atom: a section for each entry."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from email.utils import parsedate_to_datetime

from veraz.providers.parsers import html
from veraz.providers.parsers.fields import language_code
from veraz.providers.parsers.narrative import Reading
from veraz.providers.parsers.xmltree import Element, attribute, child, children, name_of, words
from veraz.text.dates import parse_date
from veraz.text.decode import storable

_CONTENT = ("encoded", "content", "description", "summary")
"""The whole text of an entry, or else what there is of it."""
_DATED = ("updated", "pubDate", "date", "published", "issued", "modified")


def read(root: Element) -> Reading:
    atom = name_of(root) in ("feed", "entry")
    found = Reading("atom" if atom else "rss")
    channel = next(children(root, "channel"), root)
    found.title = _plain(child(channel, "title"))
    _identify(found, channel)
    for name in ("subtitle", "description"):
        found.paragraph(_plain(child(channel, name)))
    entries = [root] if name_of(root) == "entry" else [*children(channel, "item", "entry")]
    entries += [] if channel is root else children(root, "item")
    dated: dict[str, str] = {}
    for entry in entries:
        if found.heading(1, _plain(child(entry, "title"))) and (when := _when(entry)):
            dated[str(len(found.out.headings))] = when.isoformat()
        _content(found, entry)
    if dated:
        found.stated["meta"] = {**found.stated.get("meta", {}), "section_dates": dated}
    return found


def _content(found: Reading, entry: Element) -> None:
    for name in _CONTENT:
        stated = next((part for part in children(entry, name) if words(part)), None)
        if stated is None:
            continue
        if attribute(stated, "type") == "xhtml" or len(stated):
            found.narrative(stated, 1)
        elif attribute(stated, "type") == "text":
            found.paragraph(words(stated))
        else:
            html.write(storable(stated.text or "")[0], found.out, found.left, level=1)
        return


def _plain(element: Element | None) -> str:
    """The words of a title, which may be given as HTML."""
    text = storable(words(element))[0]
    if "<" not in text and "&" not in text:
        return text
    inner = Reading("")
    html.write(text, inner.out, inner.left)
    return " ".join("".join(inner.out.parts).split())


def _when(entry: Element) -> date | None:
    for name in _DATED:
        stated = words(child(entry, name))
        with suppress(ValueError, TypeError):
            return parse_date(stated)
        with suppress(ValueError, TypeError):
            return parsedate_to_datetime(stated).date()
    return None


def _identify(found: Reading, channel: Element) -> None:
    """The day on which an RSS feed was built is none of its text's; `updated` of an Atom feed is."""
    stated = found.stated
    stated["lang"] = language_code(words(child(channel, "language")) or attribute(channel, "lang"))
    links = [
        attribute(link, "href") or words(link)
        for link in children(channel, "link")
        if attribute(link, "rel") != "self"
    ]
    stated["url"] = next(
        (storable(link)[0] for link in links if link.startswith(("http://", "https://"))), None
    )
    with suppress(ValueError):
        stated["revised_at"] = parse_date(words(child(channel, "updated")))
