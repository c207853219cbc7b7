"""The story of Veraz, and the folder to read first.

    ingest   discover ─ parse ─ chunk ─ embed ─ one transaction per revision (corpus.py)
    search   embed the question ─ both arms inside PostgreSQL ─ fuse ─ read the hits ─ trace (questions.py)
    ask      route ─ search ─ select sentences ─ sufficiency ─ conflicts ─ validate ─ outcome, citations, trace (questions.py)

It composes the stages, which never import each other. Each file holds one part of what can be asked of an open database,
above what `core.py` opens. `AsyncVeraz` is written by hand; the synchronous `Veraz` is generated from it (sync.py).
"""

from __future__ import annotations

from veraz.engine.diagnosis import Diagnoses
from veraz.engine.indexes import Indexes
from veraz.engine.lifecycle import Lifecycle
from veraz.engine.observation import Observation
from veraz.engine.sweeps import Sweeps

__all__ = ["AsyncVeraz"]


class AsyncVeraz(Lifecycle, Indexes, Sweeps, Diagnoses, Observation):
    """An open database and the identity that acts on it. Use as an async context manager, or call `close`."""
