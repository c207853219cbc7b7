"""What `init` and `status` return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from veraz.nouns.corpus import IndexKind


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    revisions: int
    chunks: int
    sources: int
    tenants: int


@dataclass(frozen=True, slots=True)
class LexicalState:
    tenant: str
    analyser: str
    chunks: int
    merged: int
    delta: int
    reference_length: float


@dataclass(frozen=True, slots=True)
class DeadRows:
    """A table where rows that nobody sees any more outnumber a fifth of the others."""

    table: str
    live: int
    dead: int


@dataclass(frozen=True, slots=True)
class SpaceIndexed:
    """The index that is recorded for a space. `bytes`: None where it is missing or not valid; `unplaced`: the name of one that
    was built and never took its place."""

    space: str
    kind: IndexKind
    options: Mapping[str, int]
    built_at: datetime | None
    bytes: int | None
    unplaced: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of health: `fix` says what to do when it is not ok."""

    check: str
    ok: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    database: Mapping[str, Any]
    schema_version: int
    spaces: tuple[Mapping[str, Any], ...]
    counts: Counts
    lexical: tuple[LexicalState, ...]
    health: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Initialised:
    """`runtime_url` is given when this run made the unprivileged login: keep it, it is not stored on another server. `notes`
    say what this login could not do."""

    schema_version: int
    migrations: tuple[str, ...]
    replayed: bool
    space: str
    tenant: str
    runtime_url: str | None
    notes: tuple[str, ...] = ()
