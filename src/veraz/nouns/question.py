"""What a question carries besides its words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Spoken:
    """The language of a question: an ISO 639-1 code, or xx. `decided`: something speaks for it; else it is merely the corpus's
    most frequent one. `told`: it was stated, or the question's function words leave no doubt."""

    lang: str
    decided: bool
    told: bool


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on source and revision, applied inside each arm; None asks nothing. `sources` are slugs, `langs` ISO 639-1
    codes, `authority` the least that counts; licence and jurisdiction are those of the revision, else of its source; dates are
    inclusive, and a revision without the date meets neither bound. `where` is an expression, which must hold as well: see
    docs/reference/filters.md."""

    sources: tuple[str, ...] | None = None
    langs: tuple[str, ...] | None = None
    authority: int | None = None
    revised_from: date | None = None
    revised_to: date | None = None
    licenses: tuple[str, ...] | None = None
    jurisdictions: tuple[str, ...] | None = None
    published_from: date | None = None
    published_to: date | None = None
    where: str | None = None
