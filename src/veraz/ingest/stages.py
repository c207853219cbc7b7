"""What one step of an ingest hands to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import numpy as np

from veraz.ingest import store
from veraz.ingest.listing import LiveDocument
from veraz.nouns.corpus import Chunk, Dropped, ParsedDocument, RawItem, Vectors


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document that is not stored in this state; `stored` is what is known under its id."""

    item: RawItem
    document: ParsedDocument
    raw_hash: bytes
    stated: Mapping[str, str]  # what callers say of it, now or earlier
    stored: store.KnownDocument | None
    was: LiveDocument | None = None  # the same bytes under an id that is gone


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that needs writing, its chunks cut; `expected` is the revision that was current when the work started."""

    item: RawItem
    document: ParsedDocument
    lang: str
    langs: tuple[str, ...]  # of each chunk
    chunks: tuple[Chunk, ...]
    dropped: tuple[Dropped, ...]
    hashes: tuple[bytes, ...]
    raw_hash: bytes
    stated: Mapping[str, str]  # by callers, now and earlier of the same bytes
    expected: UUID | None
    is_new: bool
    deleted_at: datetime | None
    was: LiveDocument | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    prepared: Prepared
    vectors: Vectors
    fresh: int  # chunks whose text this run gave to the model; the others shared or reused a vector


@dataclass(frozen=True, slots=True)
class Texts:
    """Vectors by content hash, of one window; `fresh` are those that the model gave now."""

    vectors: dict[bytes, Vectors] = field(default_factory=dict)
    fresh: set[bytes] = field(default_factory=set)

    def hold(self, prepared: Prepared) -> bool:
        return all(h in self.vectors for h in prepared.hashes)

    def of(self, prepared: Prepared) -> Vectors:
        return np.stack([self.vectors[h] for h in prepared.hashes])
