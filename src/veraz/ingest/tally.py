"""What one run has counted so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from veraz.nouns.corpus import Change, IngestReport, ItemFailure

COUNTED = (
    "new",
    "changed",
    "unchanged",
    "superseded",
    "unsuperseded",
    "deleted",
    "documents",
    "chunks",
    "embedded",
    "reused",
    "renamed",
    "contexts",
    "contexts_reused",
)


@dataclass(slots=True)
class Tally:
    """Counts so far; the one object that changes during a run."""

    seen: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[ItemFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    embedding_seconds: float = 0.0

    def report(self, *, dry_run: bool = False) -> IngestReport:
        return IngestReport(
            **{name: self.counts[name] for name in COUNTED},
            failed=len(self.errors),
            seconds=round(time.perf_counter() - self.started, 3),
            errors=tuple(self.errors),
            warnings=tuple(self.warnings),
            changes=tuple(self.changes),
            dry_run=dry_run,
        )


Progress = Callable[[Tally], None]
