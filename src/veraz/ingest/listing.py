"""What a run would find, by name alone, and what is gone compared to what is stored. Pure but for reading names.

Pruning trusts a listing to be complete, so whatever could not be listed forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from veraz.errors import CheckFailed, ItemError
from veraz.nouns.corpus import Access, RawItem

SHARE_DELETED = 0.2
"""Of a source's documents that one run may delete without being told to go ahead."""
FEW = 3
"""Documents that may go whatever their share."""


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """A document of the source that is neither deleted nor erased."""

    external_id: str
    raw_hash: bytes | None
    bytes_hash: (
        bytes | None
    )  # of what was read, however it was parsed and cut: what tells that it was renamed
    access: Access


@dataclass(slots=True)
class Listing:
    """The ids that a run will meet, and what it could not look into."""

    ids: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)


def list_items(items: Iterable[RawItem | ItemError]) -> Listing:
    """What fails but has an id is there: it must not be deleted because it is broken today."""
    listing = Listing()
    for item in items:
        if isinstance(item, RawItem) or item.external_id is not None:
            listing.ids.add(str(item.external_id))
        else:
            listing.unread.append(f"{item.path}: {item.reason}")
    return listing


class Gone:
    """What is stored and not found any more, while a run goes over what there is."""

    def __init__(self, documents: Iterable[LiveDocument] = ()) -> None:
        self._documents = {document.external_id: document for document in documents}
        self._by_hash = {d.bytes_hash: d for d in self._documents.values() if d.bytes_hash is not None}

    def met(self, external_id: str | None) -> None:
        """The run has it, though the listing had not: it was being replaced just then, and must stay."""
        if external_id is not None:
            self._documents.pop(external_id, None)

    def renamed(self, bytes_hash: bytes) -> LiveDocument | None:
        """The one that had the same bytes."""
        return self._by_hash.get(bytes_hash)

    def left(self) -> tuple[LiveDocument, ...]:
        """In the order of their ids."""
        return tuple(self._documents.values())


def gone(listing: Listing, live: Mapping[str, LiveDocument], *, confirmed: bool) -> Gone:
    """Documents of the source that the listing does not hold. Raises CheckFailed, before anything was done, when the listing has
    holes, and when more than a fifth of the source would go without `confirmed`."""
    if listing.unread:
        raise CheckFailed(
            f"nothing was done: what is gone cannot be told, because {len(listing.unread)} could not be read, "
            f"the first being {listing.unread[0]}",
            fix="mend that, or run without --prune",
        )
    missing = tuple(
        document for external_id, document in sorted(live.items()) if external_id not in listing.ids
    )
    if len(missing) > max(FEW, SHARE_DELETED * len(live)) and not confirmed:
        raise CheckFailed(
            f"nothing was done: {len(missing):,} of the source's {len(live):,} documents are not found any more and would be "
            f"deleted, such as {missing[0].external_id}",
            fix="check the path; if they are really gone, add --yes",
        )
    return Gone(missing)
