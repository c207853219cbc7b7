"""What is known of an expected passage before anything is searched, and where a text stands in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from veraz.nouns.corpus import AccessRule, Span
from veraz.nouns.filter import Condition


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The columns of expected_documents.sql. `may_read` says nothing of a deletion."""

    document_id: UUID
    external_id: str
    source: str
    authority: int
    license: str | None
    jurisdiction: str | None
    deleted_at: datetime | None
    erased_at: datetime | None
    current_revision_id: UUID | None
    is_superseded: bool
    superseded_from: date | None
    supersession_pinned: bool
    superseded_by: str | None
    acl: list[str]
    acl_rule: AccessRule
    owner: str | None
    readable_from: datetime | None
    readable_until: datetime | None
    may_read: bool


@dataclass(frozen=True, slots=True)
class KnownRevision:
    """The columns of expected_revisions.sql."""

    revision_id: UUID
    number: int
    text: str
    title: str
    lang: str
    license: str | None
    jurisdiction: str | None
    published_at: date | None
    revised_at: date | None
    valid_from: date | None
    valid_to: date | None
    effective_from: date
    chunker: str
    dropped: list[int]
    dropped_why: list[str]
    ingested_at: datetime


@dataclass(frozen=True, slots=True)
class KnownChunk:
    """The columns of expected_chunks.sql. `analyser` is None where the lexical arm holds nothing of it."""

    chunk_id: UUID
    ord: int
    kind: str
    heading_path: list[str]
    header: str
    display: str
    embedded: str | None
    spans: list[int]
    lang: str
    is_current: bool
    analyser: str | None
    has_vector: bool

    def covers(self, span: Span) -> bool:
        return any(a < span.end and span.start < b for a, b in self._ranges())

    def _ranges(self) -> list[tuple[int, int]]:
        return list(zip(self.spans[::2], self.spans[1::2], strict=True))

    def says(self, fact: str) -> bool:
        return any(found(fact, text) is not None for text in (self.display, self.embedded or ""))


@dataclass(frozen=True, slots=True)
class Excluding:
    """A condition of a filter expression, and the chunks that do not meet it, each with what it has by names of fields."""

    condition: Condition
    chunks: Mapping[UUID, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """The columns of known_failures.sql."""

    source: str
    external_id: str
    path: str
    stage: str
    reason: str
    failed_at: datetime


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """The columns of question_words.sql."""

    word: str
    is_kept: bool
    lexemes: list[str]
    is_there: bool
    is_in_heading: bool


def found(fact: str, text: str) -> Span | None:
    """Where `text` says `fact`, whatever the case and the white space."""
    words = fact.split()
    if not words:
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
    return Span(*match.span()) if match else None


def dropped_why(revision: KnownRevision, span: Span) -> str | None:
    """Why a range of the revision's text is in no chunk; None where no dropped range touches it."""
    ranges = zip(revision.dropped[::2], revision.dropped[1::2], revision.dropped_why, strict=True)
    return next((why for a, b, why in ranges if a < span.end and span.start < b), None)


def held_on(revisions: Sequence[KnownRevision], day: date) -> KnownRevision | None:
    """The revision that held on a day: the last that had begun, if it had not ended."""
    begun = [r for r in revisions if r.effective_from <= day]
    last = max(begun, key=lambda r: (r.effective_from, r.number), default=None)
    return None if last is None or (last.valid_to is not None and last.valid_to < day) else last


WORD = re.compile(r"[^\W_]+(?:['’.,/+-][^\W_]+)*")


def words_of(question: str) -> list[str]:
    return list(dict.fromkeys(WORD.findall(question)))
