"""How good approximate search is: figures measured on one snapshot, and the recall of sampled searches day by day.

Recall is the share of the first k of the exact result that a method has among its own first k, in 0..1, higher is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from veraz.nouns.evaluation import GateResult

Arm = Literal["lexical", "semantic"]
Method = Literal["exact", "hnsw", "hnsw_fresh", "ivfflat", "binary", "binary_centred"]
Origin = Literal["traces", "suite", "chunks"]
Scope = Literal["store", "tenant"]


@dataclass(frozen=True, slots=True)
class IndexFigure:
    """One method with one choice of settings, at one k. `recall` is the mean over queries, `low`..`high` its bootstrap interval
    at 95 %, `worst` the least of them; `complete` is the share of queries that missed nothing, `short` counts those that got
    fewer rows than the exact scan. Times are of one query, statement and round trip. `size_bytes` is the index alone;
    `build_seconds` is None where the index was not built by this measurement."""

    arm: Arm
    method: str
    settings: Mapping[str, Any]
    k: int
    recall: float
    low: float
    high: float
    worst: float
    complete: float
    short: int
    p50_ms: float
    p95_ms: float
    size_bytes: int
    build_seconds: float | None


@dataclass(frozen=True, slots=True)
class IndexMeasurement:
    """Every method against the exact scan, on one snapshot. `origin` says where the `queries` came from. `vectors` are the
    current ones of the tenant in the space, `copied` those that indexes were built over for comparison (`scope`: all of the
    store, as in the live index, or the tenant's); `permitted` is the share of the tenant's that the reader may read and the
    filters let through."""

    tenant: str
    space: str
    dimension: int
    vectors: int
    copied: int
    scope: Scope
    permitted: float
    queries: int
    origin: Origin
    figures: tuple[IndexFigure, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, Any]
    measured_at: datetime
    seconds: float
    gates: tuple[GateResult, ...] = ()


@dataclass(frozen=True, slots=True)
class RecallDay:
    """Sampled searches of one arm on one day (UTC). `mean` and `worst` are of the `approximated` ones, the others had read
    everything; None where there were none. `exact_ms`: what the exact scan took, in the mean."""

    day: date
    arm: Arm
    samples: int
    approximated: int
    mean: float | None
    worst: float | None
    exact_ms: float | None


@dataclass(frozen=True, slots=True)
class LiveRecall:
    """The recall of sampled searches since a moment, the oldest day first. `recall` is the lower mean of the two arms, `worst`
    the least of any search; where no search approximated both are 1, and None where nothing was sampled. `dropped` counts the
    searches that were chosen and not measured. `share`: of the searches of this configuration that are sampled."""

    tenant: str
    since: datetime
    share: float
    recall: float | None
    worst: float | None
    samples: int
    approximated: int
    dropped: int
    arms: Mapping[str, float]
    days: tuple[RecallDay, ...]
    gates: tuple[GateResult, ...] = ()
