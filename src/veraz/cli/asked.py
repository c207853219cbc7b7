"""What the options of a question mean: what the engine is asked, filters and all."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from veraz.errors import UsageError

if TYPE_CHECKING:
    from veraz.nouns.question import Filters

FILTERS = (
    "sources", "min_authority", "revised_from", "revised_to", "doc_lang", "licenses", "jurisdictions", "published_from",
    "published_to", "where",
)  # fmt: skip
"""The options of a question that are filters, by the names of their parameters."""


def asked_of(**given: Any) -> dict[str, Any]:
    """What `question_options` and `arm_options` gave, as the engine takes it: the filters are one."""
    filters = filters_of(**{name: given.pop(name) for name in FILTERS})
    return {**given, "filters": filters}


def filters_of(
    *,
    sources: tuple[str, ...] | None,
    min_authority: int | None,
    revised_from: date | None,
    revised_to: date | None,
    doc_lang: tuple[str, ...] | None,
    licenses: tuple[str, ...] | None,
    jurisdictions: tuple[str, ...] | None,
    published_from: date | None,
    published_to: date | None,
    where: tuple[str, ...] = (),
) -> Filters:
    """The filters that the options of `question_options` name. Raises UsageError for a range that is empty."""
    from veraz.nouns.question import Filters

    ranges = {"revised": (revised_from, revised_to), "published": (published_from, published_to)}
    for name, (first, last) in ranges.items():
        if first and last and first > last:
            raise UsageError(
                f"no day is on or after {first} and on or before {last}",
                fix=f"exchange --{name}-from and --{name}-to",
            )
    return Filters(
        sources=sources,
        langs=doc_lang,
        authority=min_authority,
        revised_from=revised_from,
        revised_to=revised_to,
        licenses=licenses,
        jurisdictions=jurisdictions,
        published_from=published_from,
        published_to=published_to,
        where=where_of(where),
    )


def where_of(expressions: tuple[str, ...]) -> str | None:
    """Several --filter hold together."""
    from veraz.filters.typed import both

    found = None
    for expression in expressions:
        found = both(found, expression)
    return found
