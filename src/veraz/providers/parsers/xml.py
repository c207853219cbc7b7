"""XML: read safely, then by the vocabulary that its root element names."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.file import document, located, no_content
from veraz.providers.parsers.narrative import Reading
from veraz.providers.parsers.xmltree import name_of, parse_xml, space_of

VERSION = "xml/1"

_VOCABULARIES = {
    "": {
        "article": "jats", "pmc-articleset": "jats", "book": "jats", "book-part-wrapper": "jats",
        "PubmedArticleSet": "pubmed", "PubmedArticle": "pubmed", "MedlineCitationSet": "pubmed", "MedlineCitation": "pubmed",
        "PubmedBookArticle": "pubmed", "rss": "feeds",
    },
    "http://hl7.org/fhir": {"*": "fhir"},
    "urn:hl7-org:v3": {"document": "spl", "ClinicalDocument": "spl"},
    "http://www.w3.org/2005/Atom": {"feed": "feeds", "entry": "feeds"},
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": {"RDF": "feeds"},
    "https://jats.nlm.nih.gov/ns/archiving/1.3/": {"article": "jats"},
}  # fmt: skip


class XmlParser:
    def parse(self, item: RawItem) -> ParsedDocument:
        if not (item.payload or b"").strip():
            raise no_content(item)
        try:
            root, warnings = parse_xml(item.payload or b"")
            if space_of(root) == "http://www.w3.org/1999/xhtml":
                return _page(item)
            found: Reading = import_module(_module(space_of(root), name_of(root))).read(root)
        except ItemError as error:
            raise located(error, item) from None
        if found.codes:
            found.stated["meta"] = {**found.stated.get("meta", {}), "section_codes": found.codes}
        outline = found.out.outline(found.title, found.left.warnings())
        return document(
            item,
            outline,
            VERSION,
            title=found.title,
            stated=found.stated,
            warnings=(*warnings, *found.warnings),
            media=found.media,
        )


def _module(space: str, root: str) -> str:
    names = _VOCABULARIES.get(space, {})
    return f"veraz.providers.parsers.{names.get(root) or names.get('*') or 'elements'}"


def _page(item: RawItem) -> ParsedDocument:
    from veraz.providers.parsers.html import HtmlParser

    return HtmlParser().parse(replace(item, media="html"))
