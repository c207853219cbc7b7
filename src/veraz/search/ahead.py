"""What hits say that does not hold yet. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from veraz.nouns.evidence import DocumentRef, Hit


def is_ahead(document: DocumentRef, today: date) -> bool:
    """Whether it, or the document's latest revision, only holds from a later day."""
    return any(day is not None and day > today for day in (document.holds_from, document.current_since))


def ahead_notes(hits: Sequence[Hit], today: date) -> tuple[str, ...]:
    """A note for each document among the hits that only holds from a later day. Ids, no titles: notes stay in traces."""
    return tuple(
        dict.fromkeys(
            _note(hit.document) for hit in hits if hit.document.holds_from and hit.document.holds_from > today
        )
    )


def _note(document: DocumentRef) -> str:
    place = f"{document.source}/{document.external_id}"
    note = f"{place}: revision {document.revision} holds from {document.holds_from}"
    held = document.in_force
    if held is None:
        return note
    which = "" if held.external_id == document.external_id else f" of {document.source}/{held.external_id}"
    return f"{note}; until then revision {held.revision}{which} does"
