"""What a reader of hits is given: passages within a budget of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal
from uuid import UUID

from veraz.nouns.evidence import DocumentExcerpts, DocumentRef, Mode, Passage, by_document

Why = Literal["budget", "per_document", "gone"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A hit that is in no passage: it did not fit the `budget`, others of its document came before it (`per_document`), or it
    could not be read any more (`gone`)."""

    rank: int
    chunk_id: UUID
    document: DocumentRef
    why: Why


@dataclass(frozen=True, slots=True)
class Context:
    """Passages by the rank of their best hit. `text`: all of them as a chat model would be given them, each under its label, a
    blank line between them. `tokens` are those of `text`, never more than `budget`. `trace_id` is that of the search; None
    where no trace was kept."""

    trace_id: UUID | None
    question: str
    lang: str
    mode: Mode
    as_of: date | None
    budget: int
    tokens: int
    sufficiency: float | None
    threshold: float | None
    passages: tuple[Passage, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]
    text: str

    @property
    def documents(self) -> tuple[DocumentExcerpts, ...]:
        """The same passages by document."""
        more = Counter(left.document.document_id for left in self.left_out)
        return by_document(self.passages, more)


def rendered(passages: tuple[Passage, ...]) -> str:
    return "\n\n".join(passage.rendered for passage in passages)
