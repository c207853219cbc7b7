"""Citations with abstracts as PubMed exports them. https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html"""

from __future__ import annotations

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
from veraz.text.decode import storable

_TAGS = {"AbstractText": "p", "i": "em", "b": "strong", "u": "span", "DispFormula": "div"}
_CITATIONS = ("MedlineCitation", "BookDocument")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read(root: Element) -> Reading:
    """One article is a document; each of several is a section of one, with its own sections below."""
    found = Reading("pubmed")
    citations = [root] if name_of(root) in _CITATIONS else list(descendants(root, *_CITATIONS))
    if not citations:
        raise Refused("a PubMed file without an article", "leave it out")
    several = len(citations) > 1
    stated = [_Citation(citation) for citation in citations]
    for citation in stated:
        if several:
            found.heading(1, citation.title or f"PMID {citation.pmid}")
        if citation.retracted:
            found.warnings.append(f"PMID {citation.pmid} has been retracted")
        citation.write(found, int(several) + 1)
    bare = sum(not citation.texts for citation in stated)
    if bare and several:
        found.warnings.append(f"{bare} of {len(stated)} articles have a title, but no abstract")
    _identify(found, stated)
    return found


class _Citation:
    def __init__(self, citation: Element) -> None:
        self.citation = citation
        self.article = next(children(citation, "Article"), citation)
        self.pmid = words(child(citation, "PMID"))
        self.title = _inline(next(descendants(self.article, "ArticleTitle"), None)).strip("[]")
        self.texts = list(self._texts())
        self.lang = language_code(words(child(self.article, "Language")))
        self.retracted = any(
            attribute(related, "RefType") == "RetractionIn"
            for related in descendants(citation, "CommentsCorrections")
        )

    def _texts(self) -> Iterator[tuple[str, Element]]:
        """Every part of the abstracts with the heading it stands under, "" for an abstract in one piece."""
        holders = [
            *children(self.article, "Abstract"),
            *children(self.citation, "OtherAbstract"),
        ]
        for holder in dict.fromkeys(holders):
            lang = attribute(holder, "Language")
            above = f"Abstract ({lang})" if lang and name_of(holder) == "OtherAbstract" else "Abstract"
            for text in children(holder, "AbstractText"):
                label = attribute(text, "Label")
                yield (
                    (
                        f"{above}: {label.capitalize()}"
                        if label.isupper() and lang
                        else label.capitalize() or above
                    ),
                    text,
                )

    def write(self, found: Reading, level: int) -> None:
        last = ""
        for heading, text in self.texts:
            if heading != last:
                found.heading(level, heading)
            last = heading
            text.tag = "AbstractText"
            holder = text.makeelement("div")
            holder.append(text)
            found.narrative(holder, level, _TAGS)

    def numbers(self) -> dict[str, str]:
        ids = {attribute(n, "EIdType"): words(n) for n in children(self.article, "ELocationID")}
        above = self.citation.getparent()
        listed = child(above, "PubmedData", "ArticleIdList") if above is not None else None
        ids |= {attribute(n, "IdType"): words(n) for n in children(listed)} if listed is not None else {}
        ids |= {"pmid": self.pmid, "journal": words(child(self.article, "Journal", "Title"))}
        kept = ("pmid", "doi", "pmc", "journal")
        return {key: storable(value)[0] for key in kept if (value := ids.get(key, ""))}

    def published(self) -> date | None:
        stated = [*children(self.article, "ArticleDate"), *descendants(self.article, "PubDate")]
        return min(filter(None, map(_date, stated)), default=None)


def _inline(element: Element | None) -> str:
    if element is None:
        return ""
    inner = Reading("")
    inner.narrative(element, 0, _TAGS)
    return " ".join("".join(inner.out.parts).split())


def _date(stated: Element) -> date | None:
    """A day; a month or a year alone is not completed."""
    year, month, day = (words(child(stated, name)) for name in ("Year", "Month", "Day"))
    number = str(_MONTHS.index(month[:3].lower()) + 1) if month[:3].lower() in _MONTHS else month
    try:
        return date(int(year), int(number), int(day))
    except ValueError:
        return None


def _identify(found: Reading, citations: list[_Citation]) -> None:
    langs = {citation.lang for citation in citations}
    found.stated["lang"] = langs.pop() if len(langs) == 1 else None
    if len(citations) > 1:
        found.stated["meta"] = {"articles": [citation.numbers() for citation in citations]}
        return
    only = citations[0]
    found.title = only.title
    if not only.texts:
        found.heading(1, only.title)
        found.warnings.append("the article has a title, but no abstract")
    numbers = only.numbers()
    found.stated["meta"] = numbers
    found.stated["published_at"] = only.published()
    if only.pmid:
        found.stated["url"] = f"https://pubmed.ncbi.nlm.nih.gov/{only.pmid}/"
