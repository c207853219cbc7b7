"""What is asked of another lexical engine, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from veraz.nouns.corpus import Identity

LexicalName = Literal["postings", "pg_textsearch", "pg_search"]
"""What `[search] lexical` takes: Veraz's own inverted file, or an extension's index."""
ExtensionName = Literal["pg_textsearch", "pg_search"]
"""What `veraz index lexical` builds for."""
EXTENSIONS: tuple[ExtensionName, ...] = get_args(ExtensionName)


@dataclass(frozen=True, slots=True)
class EngineQuestion:
    """`text` is the question without marks, without what it excludes, and with known words for misspelt ones; `lang` its
    language. At most `depth` candidates are wanted. `identity` says in which tenant, and by whom: an engine may use it to look at
    less, and nothing relies on that."""

    identity: Identity
    text: str
    lang: str
    depth: int


@dataclass(frozen=True, slots=True)
class EngineCandidates:
    """Chunks with their scores, higher for better and finite, in any order, each chunk once: the best `depth`. `exhausted`: there
    are no others that match."""

    candidates: Sequence[tuple[UUID, float]]
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class LexicalIndexBuilt:
    """Indexes of an extension, built or dropped: their names, and the bytes that they take. `notes`: what an operator should
    know of them."""

    engine: str
    indexes: tuple[str, ...]
    size_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()
