"""What a caller typed, as every later stage may read it."""

from __future__ import annotations

from veraz.errors import UsageError
from veraz.nouns.question import Filters
from veraz.text.decode import require_storable, storable

QUESTION_CHARACTERS = 32_000
"""Reading one this long takes seconds already; nobody asks in more."""


def clean_question(question: str) -> str:
    """The question without what PostgreSQL refuses: NUL becomes a blank, a lone surrogate (a byte of the command line that
    is no UTF-8) U+FFFD. Raises UsageError above 32,000 characters."""
    if len(question) > QUESTION_CHARACTERS:
        raise UsageError(
            f"the question has {len(question):,} characters",
            fix=f"ask in at most {QUESTION_CHARACTERS:,}, or ingest the text and ask about it",
        )
    return storable(question.replace("\x00", " "))[0]


def check_filters(lang: str, filters: Filters) -> None:
    """Raises UsageError for what the database would refuse: a name that it cannot hold, an authority beyond 1 to 5."""
    require_storable("language", lang, *(filters.langs or ()))
    require_storable("source", *(filters.sources or ()))
    require_storable("license", *(filters.licenses or ()))
    require_storable("jurisdiction", *(filters.jurisdictions or ()))
    if filters.authority is not None and not 1 <= filters.authority <= 5:
        raise UsageError(f"authority is {filters.authority}", fix="give a number from 1 to 5")
