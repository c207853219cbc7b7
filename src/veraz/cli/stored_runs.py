"""Runs by the names that `eval compare` and `eval report` take: files are read here, ids are looked up in the database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.nouns.evaluation import StoredRun

if TYPE_CHECKING:
    from veraz.engine import AsyncVeraz


def read_runs(state: State, names: Sequence[str]) -> list[StoredRun]:
    """The runs in the given order. No database is opened where all of them lie in files. Raises UsageError."""
    from veraz.evaluation.runs.files import is_place, read_run  # numpy: not for a help page

    if all(is_place(name) for name in names):
        return [read_run(Path(name)) for name in names]

    async def work(engine: AsyncVeraz) -> list[StoredRun]:
        return [await engine.eval_run(name) for name in names]

    return with_engine(state, work)
