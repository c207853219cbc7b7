"""What a caller typed, as every later stage may read it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from typing import get_args

from veraz.config import MOST_EF_SEARCH, MOST_OVERSAMPLING, MOST_PROBES
from veraz.errors import UsageError
from veraz.filters.typed import Declared, resolve
from veraz.nouns.evidence import Mode
from veraz.nouns.fusion import Fusion
from veraz.nouns.question import Filters
from veraz.nouns.rerank import RERANKERS
from veraz.text.decode import require_storable, storable

MODES: tuple[str, ...] = get_args(Mode)
FUSIONS: tuple[str, ...] = get_args(Fusion)
QUESTION_CHARACTERS = 32_000
"""Reading one this long takes seconds already; nobody asks in more."""


def clean_question(question: str) -> str:
    """The question without what PostgreSQL refuses: NUL becomes a blank, a lone surrogate (a byte of the command line that
    is no UTF-8) U+FFFD. Raises UsageError above 32,000 characters."""
    check_type("the question", question, str)
    if len(question) > QUESTION_CHARACTERS:
        raise UsageError(
            f"the question has {len(question):,} characters",
            fix=f"ask in at most {QUESTION_CHARACTERS:,}, or ingest the text and ask about it",
        )
    return storable(question.replace("\x00", " "))[0]


def check_search(
    *,
    k: int | None,
    mode: str,
    lang: str,
    filters: Filters,
    as_of: date | None,
    fusion: str | None = None,
    rerank: str | None = None,
    declared: Declared | None = None,
    ef_search: int | None = None,
    probes: int | None = None,
    oversampling: int | None = None,
) -> None:
    """Raises UsageError for an argument that means nothing, before anything is searched or routed: Python does not check types,
    and a mistaken name must not be read as a default. `declared`: types of keys of the metadata."""
    check_count("k", k, fix="ask for at least one hit: -k 10", optional=True)
    check_within("ef_search", ef_search, 1, MOST_EF_SEARCH)
    check_within("probes", probes, 1, MOST_PROBES)
    check_within("oversampling", oversampling, 1, MOST_OVERSAMPLING)
    check_choice("mode", mode, MODES)
    check_choice("fusion", fusion, FUSIONS, optional=True)
    check_choice("rerank", rerank, RERANKERS, optional=True)
    check_type("lang", lang, str)
    check_day("as_of", as_of)
    check_type("filters", filters, Filters)
    check_filters(lang, filters)
    resolve(filters, declared or {}, as_of or datetime.now(UTC).date())


def check_choice(name: str, value: object, choices: Sequence[str], *, optional: bool = False) -> None:
    if value not in choices and not (optional and value is None):
        raise UsageError(f"{name} is {value!r}", fix=f"use one of: {', '.join(choices)}")


def check_count(name: str, value: object, *, fix: str | None = None, optional: bool = False) -> None:
    """A whole number from 1 on."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r}", fix=fix or "give a whole number from 1 on")


def check_within(name: str, value: object, low: int, high: int, *, optional: bool = True) -> None:
    """A whole number between two others."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} is {value!r}", fix=f"give a whole number between {low} and {high}")


def check_day(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, date) or isinstance(value, datetime)):
        raise UsageError(f"{name} is {value!r}, a {type(value).__name__}", fix="give a datetime.date")


def check_type(name: str, value: object, wanted: type, *, optional: bool = False) -> None:
    if not isinstance(value, wanted) and not (optional and value is None):
        raise UsageError(f"{name} is {value!r}, a {type(value).__name__}", fix=f"give a {wanted.__name__}")


def check_names(name: str, values: object) -> None:
    """Several names; a lone string would be read as its letters."""
    if values is None:
        return
    if (
        isinstance(values, str)
        or not isinstance(values, Collection)
        or not all(isinstance(v, str) for v in values)
    ):
        raise UsageError(f"{name} is {values!r}", fix=f'give a list of strings: {name}=["a", "b"]')


def check_filters(lang: str, filters: Filters) -> None:
    """Raises UsageError for what the database would refuse: a name that it cannot hold, an authority beyond 1 to 5; and for what
    it would misread."""
    check_type("where", filters.where, str, optional=True)
    for name in ("sources", "langs", "licenses", "jurisdictions"):
        check_names(name, getattr(filters, name))
    for name in ("revised_from", "revised_to", "published_from", "published_to"):
        check_day(name, getattr(filters, name))
    require_storable("language", lang, *(filters.langs or ()))
    require_storable("source", *(filters.sources or ()))
    require_storable("license", *(filters.licenses or ()))
    require_storable("jurisdiction", *(filters.jurisdictions or ()))
    check_authority(filters.authority)


def check_authority(value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 5):
        raise UsageError(f"authority is {value!r}", fix="give a number from 1 to 5")
