"""What search returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal
from uuid import UUID

from veraz.nouns.corpus import Span

Mode = Literal["hybrid", "lexical", "semantic"]
Grouping = Literal["document"]
Outcome = Literal["answered", "conflicting", "insufficient", "routed"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk as an arm returned it. Higher scores are better. `share`, in 0..1: how far the score counts in fusion. It is
    1 but where all lexical candidates are in another language than the question: src/veraz/search/abroad.py."""

    chunk_id: UUID
    score: float
    authority: int
    revised_at: date | None
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class ArmScore:
    """A chunk's place in one arm. Rank counts from 1; scores are finite and higher is better (semantic: by the space's
    distance, see `nouns/distance.py`)."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Successor:
    """The end of the chain that replaced a document, as far as the reader may read it: what to look at instead."""

    external_id: str
    title: str
    url: str | None
    revised_at: date | None


@dataclass(frozen=True, slots=True)
class InForce:
    """A revision that holds today: what counts until the day from which a later one holds."""

    external_id: str
    revision: int
    title: str
    url: str | None


@dataclass(frozen=True, slots=True)
class DocumentRef:
    external_id: str
    source: str
    authority: int
    license: str | None
    title: str
    url: str | None
    lang: str
    revision: int
    published_at: date | None
    revised_at: date | None
    superseded_by: str | None
    is_current: bool
    source_name: str = ""
    publisher: str | None = None
    jurisdiction: str | None = None
    document_id: UUID | None = None
    revision_id: UUID | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    current_revision: int | None = None  # number of the document's current revision, which may be another one
    current_since: date | None = None  # the day from which that one holds, as upstream states it
    successor: Successor | None = None
    holds_from: date | None = (
        None  # the day from which this revision holds, as upstream states it; it may be still to come
    )
    superseded_since: date | None = (
        None  # from this day something replaces the document, whether or not the reader may see what
    )
    in_force: InForce | None = (
        None  # what holds today, where the document's latest revision only holds from a later day
    )


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk of the ranked result. `start`/`end` is the hull of `spans`; `body` is what a reader sees. `also` names the other
    documents that say exactly the same and ranked lower: a shared warning is shown once, with every owner."""

    rank: int
    score: float
    chunk_id: UUID
    document: DocumentRef
    ord: int
    kind: str
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int
    body: str
    spans: tuple[Span, ...]
    token_count: int
    lexical: ArmScore | None = None
    semantic: ArmScore | None = None
    rerank: ArmScore | None = None
    explain: Mapping[str, Any] | None = None
    also: tuple[DocumentRef, ...] = ()


@dataclass(frozen=True, slots=True)
class PassageChunk:
    """A chunk, or the part of one, in a passage. `spans` are what the passage has of it, `start`/`end` their hull; `whole`:
    that is all of it. `rank` and `score` are those of the hit; None of a chunk that stands around one."""

    chunk_id: UUID
    ord: int
    kind: str
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int
    spans: tuple[Span, ...]
    whole: bool
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of one revision, in reading order: exactly `text[start:end]` of each of `spans`, joined. There is one span, but where
    running heads are left out, or a part of a table has the table's header before it. `heading_path` and `page` are those of its
    beginning; `rank` and `score` those of its best hit. `tokens`: of all that `rendered` says; None where
    nobody counted. `truncated`: of a hit in it, only a
    part is here."""

    n: int
    document: DocumentRef
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int
    spans: tuple[Span, ...]
    text: str
    tokens: int | None
    rank: int
    score: float
    chunks: tuple[PassageChunk, ...]
    truncated: bool = False

    @property
    def rendered(self) -> str:
        """The passage under a line that says what it is: `[1] Title › Heading (source/id, revision 2 of 2024-05-01)`."""
        return f"{passage_label(self.n, self.document, self.heading_path)}\n{self.text}"


def by_document(passages: Sequence[Passage], more: Mapping[UUID | None, int]) -> tuple[DocumentExcerpts, ...]:
    """The passages of each document, in reading order; documents by the rank of their best hit. `more`: by document id, how many
    of its hits are in no passage."""
    groups: dict[UUID | None, list[Passage]] = {}
    for passage in sorted(passages, key=lambda passage: passage.rank):
        groups.setdefault(passage.document.document_id, []).append(passage)
    return tuple(
        DocumentExcerpts(
            rank=group[0].rank,
            score=group[0].score,
            document=group[0].document,
            hits=tuple(sorted({c.rank for p in group for c in p.chunks if c.rank is not None})),
            passages=tuple(sorted(group, key=lambda passage: passage.start)),
            more=more.get(document_id, 0),
        )
        for document_id, group in groups.items()
    )


def passage_label(n: int, document: DocumentRef, heading_path: tuple[str, ...]) -> str:
    parts = [" ".join(part.split()) for part in (document.title, *heading_path) if part.strip()]
    if len(parts) > 1 and parts[0].casefold() == parts[1].casefold():  # the first heading is mostly the title
        parts = parts[1:]
    path = " › ".join(parts)
    dated = f" of {document.revised_at}" if document.revised_at else ""
    place = f"{document.source}/{document.external_id}, revision {document.revision}{dated}"
    return f"[{n}] {path} ({place})" if path else f"[{n}] ({place})"


@dataclass(frozen=True, slots=True)
class DocumentExcerpts:
    """One document of a grouped result: the ranks of its hits, and what these say, as passages. Rank and score are those of
    its best hit; `more` of its hits are not shown."""

    rank: int
    score: float
    document: DocumentRef
    hits: tuple[int, ...]
    passages: tuple[Passage, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    trace_id: UUID
    question: str
    lang: str
    mode: Mode
    outcome: Literal["found", "nothing"]
    sufficiency: float | None
    threshold: float | None
    shortfall: Mapping[str, Any] | None
    timings_ms: Mapping[str, float]
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    as_of: date | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    documents: tuple[DocumentExcerpts, ...] = ()  # of a result that was grouped; `hits` are then theirs alone


def spelling_note(spellings: Mapping[str, str]) -> str:
    """What misspelt words were read as. The words read are of documents, so it stands in no trace."""
    read = ", ".join(f"“{word}” as “{known}”" for word, known in spellings.items())
    return f"no passage that may be read has these words, so the lexical arm read {read}"
