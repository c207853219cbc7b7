"""The stored record of one search or answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Trace:
    """`record` holds ids, offsets, scores, timings and settings as they were; no document text."""

    trace_id: UUID
    kind: str
    created_at: datetime
    roles: tuple[str, ...]
    question: str
    outcome: str
    record: Mapping[str, Any]


Place = tuple[str, str, int, int, int]
"""Source, external id, revision number, start, end."""


@dataclass(frozen=True, slots=True)
class LiveQuote:
    """`text` is None where the document may be read, and the revision was purged."""

    text: str | None
    heading_path: tuple[str, ...]
