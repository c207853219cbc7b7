"""What `ask` returns. Every claim rests on citations; every citation quotes one contiguous span of one stored revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from veraz.nouns.evidence import InForce, Outcome, Successor


@dataclass(frozen=True, slots=True)
class Citation:
    """`quote` is exactly text[start:end] of revision `revision` of the document."""

    n: int
    external_id: str
    source: str
    title: str
    url: str | None
    revision: int
    revised_at: date | None
    chunk_id: UUID
    ord: int
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int
    quote: str
    superseded_by: str | None
    authority: int = 3
    lang: str = ""
    publisher: str | None = None
    is_current: bool = True  # false: the document has another current revision, or was superseded
    current_revision: int | None = None
    current_since: date | None = None
    valid_to: date | None = None
    successor: Successor | None = None
    holds_from: date | None = None
    superseded_since: date | None = None
    in_force: InForce | None = None
    recognised: bool = False  # by OCR, from the picture of a page: what is printed there may read otherwise


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the answer; `support` in 0..1 is how directly the quotation bears on the question."""

    text: str
    citations: tuple[int, ...]
    support: float


@dataclass(frozen=True, slots=True)
class ConflictSide:
    text: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    topic: str
    sides: tuple[ConflictSide, ...]


@dataclass(frozen=True, slots=True)
class Superseded:
    """Material that was replaced, named so that a reader can follow the change; never evidence."""

    external_id: str
    source: str
    title: str
    revised_at: date | None
    superseded_by: str
    successor_title: str
    successor_url: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    rule: str
    category: str
    message: str


@dataclass(frozen=True, slots=True)
class Dropped:
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Answer:
    trace_id: UUID
    outcome: Outcome
    question: str
    answer: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    conflicts: tuple[Conflict, ...]
    superseded: tuple[Superseded, ...]
    route: Route | None
    reason: str | None
    dropped: tuple[Dropped, ...]
    uncertain: bool
    access: Mapping[str, Any]
    sufficiency: float | None
    threshold: float | None
    standalone_question: str
    sub_questions: tuple[str, ...]
    usage: Mapping[str, Any]
    timings_ms: Mapping[str, float]
    lang: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)
    as_of: date | None = None
