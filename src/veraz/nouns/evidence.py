"""What search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal
from uuid import UUID

from veraz.nouns.corpus import Span

Mode = Literal["hybrid", "lexical", "semantic"]
Outcome = Literal["answered", "conflicting", "insufficient", "routed"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk as an arm returned it. Higher scores are better."""

    chunk_id: UUID
    score: float
    authority: int
    revised_at: date | None


@dataclass(frozen=True, slots=True)
class ArmScore:
    """A chunk's place in one arm. Rank counts from 1; scores are finite and higher is better (semantic: 1 − distance)."""

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


def spelling_note(spellings: Mapping[str, str]) -> str:
    """What misspelt words were read as. The words read are of documents, so it stands in no trace."""
    read = ", ".join(f"“{word}” as “{known}”" for word, known in spellings.items())
    return f"no passage that may be read has these words, so the lexical arm read {read}"
