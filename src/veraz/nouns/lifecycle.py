"""What happens to documents after they were taken in: access, deletion, erasure, retention, an operator's supersession."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from veraz.nouns.corpus import Access


@dataclass(frozen=True, slots=True)
class Standing:
    """A document as its operator sees it, deleted or not. `superseded_by` is an external id in the same source; `pinned` says
    that an operator decided it, and not what documents declare."""

    access: Access
    document_id: UUID
    external_id: str
    source: str
    deleted_at: datetime | None
    erased_at: datetime | None
    has_text: bool
    superseded_by: str | None
    superseded_from: date | None
    pinned: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """`text_is_gone`: the document was erased. Its id may be ingested again, but nothing came back."""

    external_id: str
    source: str
    text_is_gone: bool


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure removed; `traces` and `queries` (of evaluation runs) lost every text. `remains` says why dead rows still
    hold the text on the server's disk; None where they do not. `erased_before`: when an earlier erasure had removed the text;
    None where this one did."""

    external_id: str
    source: str
    revisions: int
    chunks: int
    traces: int
    remains: str | None
    erased_before: datetime | None = None
    queries: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a tenant keeps what is no longer current; None keeps it for ever. A revision of the history goes when it was
    retired more than `history_days` ago and is beyond the newest `history_revisions`: each limit that is set must be passed."""

    history_days: int | None = None
    history_revisions: int | None = None
    deleted_days: int | None = None
    trace_days: int | None = None
    run_days: int | None = None
    recall_days: int | None = None


@dataclass(frozen=True, slots=True)
class Expired:
    """What a policy lets go now."""

    revisions: int
    documents: int
    traces: int
    runs: int
    recall_samples: int

    @property
    def total(self) -> int:
        return self.revisions + self.documents + self.traces + self.runs + self.recall_samples


@dataclass(frozen=True, slots=True)
class Purged:
    """What a run of the policy removed. `tombstones`: documents of which only the identity stays, because another one names them.
    `skipped`: what a writer held; the next run takes it. A dry run counts what would go and removes nothing."""

    revisions: int
    chunks: int
    documents: int
    tombstones: int
    traces: int
    skipped: int
    seconds: float
    dry_run: bool
    runs: int = 0
    recall_samples: int = 0
