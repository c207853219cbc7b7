"""What `show` returns: one document with its revisions, and the sections and chunks of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from veraz.nouns.corpus import Access, Section, Span


@dataclass(frozen=True, slots=True)
class ShownRevision:
    revision_id: UUID
    number: int
    title: str
    url: str | None
    lang: str
    publisher: str | None
    license: str | None
    jurisdiction: str | None
    published_at: date | None
    revised_at: date | None
    valid_from: date | None
    valid_to: date | None
    item: str | None
    edition: str | None
    effective_from: date  # the day from which it holds; 0001-01-01 where it has no beginning
    ingested_at: datetime
    retired_at: datetime | None
    parser: str
    chunker: str
    meta: Mapping[str, Any]
    length: int  # code points of its text


@dataclass(frozen=True, slots=True)
class ShownChunk:
    chunk_id: UUID
    ord: int
    section: int
    heading_path: tuple[str, ...]
    kind: str
    display: str
    header: str
    token_count: int
    spans: tuple[Span, ...]
    page: int | None
    is_current: bool
    context: str = ""  # what a model wrote about it, embedded below the header: no text of the document


@dataclass(frozen=True, slots=True)
class HiddenSuccessor:
    """A successor that was deleted: what it replaced stays replaced."""

    external_id: str
    deleted_at: datetime
    erased_at: datetime | None


@dataclass(frozen=True, slots=True)
class Shown:
    """`shown` is the number of the revision whose sections and chunks these are. `superseded_by` and `supersedes` are external
    ids in the same source; a document is superseded when `superseded_at` is set, by one that the reader may not read when
    `superseded_by` is not. `successor_deleted_at`: the successor was deleted, and hides this document all the same."""

    document_id: UUID
    external_id: str
    source: str
    source_name: str
    authority: int
    document_type: str | None
    acl: tuple[str, ...]
    access: Access
    current_revision: int | None
    superseded_by: str | None
    superseded_at: datetime | None
    superseded_from: date | None
    supersedes: tuple[str, ...]
    revisions: tuple[ShownRevision, ...]
    shown: int
    sections: tuple[Section, ...]
    chunks: tuple[ShownChunk, ...]
    supersession_pinned: bool = False  # an operator said by what it is replaced, or that it is not
    successor_deleted_at: datetime | None = None
    successor_erased_at: datetime | None = None
