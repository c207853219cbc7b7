"""Candidate sentences of the evidence, each one contiguous quotable span of its revision.

A candidate is usually one sentence. Three kinds need more than themselves to be understood, and get it by
widening the span, so that the quotation stays contiguous: a sentence that points back ("This ...") takes
its predecessor along, a lead-in that ends with a colon takes its list, and a table row is shown with the
names of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from veraz.answer.tables import Tables
from veraz.answer.words import words
from veraz.nouns.corpus import Span
from veraz.nouns.evidence import DocumentRef, Hit
from veraz.text.lines import item_marker
from veraz.text.sentences import sentence_spans, without_marker
from veraz.text.tables import is_row

RevisionKey = tuple[str, str, int]
"""(source, external_id, revision number): what a hit and a citation have in common."""

_LIST_LIMIT = 900  # code points of a lead-in with its list
_MIN_WORDS = 4
_DANGLING = re.compile(
    r"(?:this|these|those|such|that|it|they|he|she|his|her|their|its|however|but|also|therefore|then"
    r"|otherwise|instead"
    r"|esto|este|esta|estos|estas|eso|ello|ellos|ellas|además|tambien|también|sin embargo|pero|por eso"
    r"|en ese caso"
    r"|cela|ceci|ce|cet|cette|ces|ils|elles|elle|celui-ci|celle-ci|mais|donc|alors|cependant|toutefois)\b",
    re.I,
)
_THEN = re.compile(r"\b(?:then|entonces|alors|by this|of these)\b[,.]", re.I)
_EXPLETIVE = re.compile(
    r"(?:it|this) is (?:important|recommended|best|not recommended|advisable|possible|safe)\b", re.I
)
_BOILERPLATE = re.compile(  # of folded text: ignoring case takes four times as long
    r"key points?$|see also|related (?:topics|links|articles|information)|(?:more|further"
    r"|additional) information"
    r"|learn more|read more|references?:?$|last (?:updated|reviewed)|copyright|all rights reserved"
    r"|back to top"
    r"|(?:not|no es|pas un) (?:a substitute for )?(?:medical advice|consejo médico|avis médical)"
    r"|click here|subscribe"
    r"|table of contents|share this|print this|cookies|this (?:leaflet|page|article|section) (?:explains"
    r"|describes|replaces)"
)
# A question that heads what follows, and lost its mark: "How do I store it"; "When it rains, stay in." asks nothing.
_ASKS = re.compile(
    r"(?:how|what|when|where|why|which|who) (?:do|does|did|should|can|could|is|are|will|must|may)\b[^.;:!…]*$",
    re.I,
)
_LINKS = re.compile(r"https?://|www\.", re.I)


@dataclass(frozen=True, slots=True)
class Candidate:
    """`quote` is text[start:end] of the revision; `shown` is what a reader sees (white space folded, table
    cells named). `position` counts sentences of the hit from 0. `penalty` in 0..1 is taken off its
    score."""

    hit: Hit
    start: int
    end: int
    quote: str
    shown: str
    position: int
    penalty: float = 0.0

    @property
    def context(self) -> str:
        """Title and heading path: what the sentence is about without saying so."""
        return " ".join((self.hit.document.title, *self.hit.heading_path))

    @property
    def embedded(self) -> str:
        """The text to embed: the sentence under its last heading."""
        heading = self.hit.heading_path[-1] if self.hit.heading_path else self.hit.document.title
        return f"{heading}: {self.shown}" if heading and heading not in self.shown else self.shown

    @property
    def key(self) -> RevisionKey:
        return revision_key(self.hit.document)


def revision_key(document: DocumentRef) -> RevisionKey:
    return document.source, document.external_id, document.revision


def candidates(
    hits: Sequence[Hit], texts: Mapping[RevisionKey, str], asked: Collection[str] = ()
) -> list[Candidate]:
    """Quotable sentences of all hits, in the order of the hits; a span that two hits share appears once.

    `texts` holds the stored text of each hit's revision; hits without one are skipped. `asked` are stems of the question, which
    choose among the columns of a row.
    """
    tables = {key: Tables(text) for key, text in texts.items()}
    seen: set[tuple[RevisionKey, int, int]] = set()
    found: list[Candidate] = []
    for hit in hits:
        key = revision_key(hit.document)
        if key not in texts:
            continue
        for candidate in _of_hit(hit, texts[key], tables[key], asked):
            place = (candidate.key, candidate.start, candidate.end)
            if place not in seen:
                seen.add(place)
                found.append(candidate)
    return found


def _of_hit(hit: Hit, text: str, tables: Tables, asked: Collection[str]) -> Iterator[Candidate]:
    position = 0
    for span in hit.spans:
        sentences = _sentences(text, span, hit.document.lang)
        for at in range(len(sentences)):
            if is_row(_line_with(text, sentences[at])):
                candidate = _row(hit, tables, text, sentences[at], position, asked)
            else:
                candidate = _candidate(hit, text, sentences, at, position)
            if candidate:
                position += 1
                yield candidate


def _sentences(text: str, span: Span, lang: str) -> list[Span]:
    """Sentences of a span; a row of a table is one, whatever full stops its cells hold."""
    found: list[Span] = []
    for inner in sentence_spans(text[span.start : span.end], lang):
        start, end = inner.start + span.start, inner.end + span.start
        if found and _in_one_row(text, found[-1], start):
            start = found.pop().start
        found.append(Span(start, end))
    return found


def _in_one_row(text: str, before: Span, start: int) -> bool:
    return "\n" not in text[before.start : start] and _line_with(text, before).lstrip().startswith("|")


def _line_with(text: str, span: Span) -> str:
    """The sentence with what its line holds before it, where that is a row of a table; else the sentence."""
    left = text.rfind("\n", 0, span.start) + 1
    begins = text[left : span.start].lstrip().startswith("|")
    return text[left if begins else span.start : span.end]


def _candidate(hit: Hit, text: str, sentences: Sequence[Span], at: int, position: int) -> Candidate | None:
    whole = sentences[at]
    span, penalty = without_marker(text, whole), 0.0
    quote = text[span.start : span.end]
    if _useless(quote, hit):
        return None
    if quote.rstrip("*_ ").endswith(":"):
        items = _list_after(text, sentences, at)
        if items is None:
            return None
        span = Span(span.start, items)
    elif _points_back(quote):
        before = _predecessor(text, sentences, at)
        span, penalty = (Span(before, span.end), 0.05) if before is not None else (span, 0.15)
    quote = text[span.start : span.end]
    return Candidate(hit, span.start, span.end, quote, _one_line(quote), position, penalty)


def _row(
    hit: Hit, tables: Tables, text: str, span: Span, position: int, asked: Collection[str]
) -> Candidate | None:
    """A row, or what a chunk holds of a long one; neither a header nor the name of a group."""
    quote, place = text[span.start : span.end], tables.at(span.start)
    if place is None or place.at is None or len(words(quote)) < 2:
        return None
    if place.table.is_group(place.at) and len(words(quote)) < _MIN_WORDS:
        return None
    shown = place.read(span.start, span.end, asked)
    return Candidate(hit, span.start, span.end, quote, _one_line(shown), position) if shown else None


def _useless(quote: str, hit: Hit) -> bool:
    """Headings, questions, fragments, link lists and what every page of a site repeats."""
    bare = quote.strip("#*_ ").rstrip(":")
    heading = quote.lstrip().startswith("#") or bare in (*hit.heading_path, hit.document.title)
    return (
        heading
        or bare.endswith("?")
        or _ASKS.match(quote.strip("#*_ ")) is not None
        or len(words(quote)) < _MIN_WORDS
        or len(_LINKS.findall(quote)) > 1
        or _is_boilerplate(bare)
    )


def _is_boilerplate(line: str) -> bool:
    return _BOILERPLATE.search(line.casefold()) is not None


def _points_back(quote: str) -> bool:
    start = quote.lstrip("*_\"'“ ")
    return _THEN.search(start) is not None or (
        _DANGLING.match(start) is not None and not _EXPLETIVE.match(start)
    )


def _predecessor(text: str, sentences: Sequence[Span], at: int) -> int | None:
    """Where the sentence before begins, when it stands in the same paragraph and is prose."""
    if at == 0:
        return None
    before, here = sentences[at - 1], sentences[at]
    line = text[before.start : before.end]
    apart = text[before.end : here.start].count("\n") > 1
    if apart or is_row(line) or line.lstrip().startswith("#") or _is_boilerplate(line):
        return None
    return without_marker(text, before).start


def _list_after(text: str, sentences: Sequence[Span], at: int) -> int | None:
    """Where the list that a lead-in announces ends; None when no item follows."""
    end: int | None = None
    for span in sentences[at + 1 :]:
        if item_marker(text, span) < 0 or span.end - sentences[at].start > _LIST_LIMIT:
            break
        end = span.end
    return end


def _one_line(quote: str) -> str:
    return " ".join(quote.split())
