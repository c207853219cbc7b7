"""What a sweep travels with: the settings it measures, what arms gave under them, and what was chosen on which evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from veraz.nouns.evidence import Candidate, Mode

Arm = Literal["lexical", "semantic"]
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a chunk is. `body` is a hash of what a reader sees of it: equal ones say the same."""

    external_id: str
    document_id: UUID | None
    body: bytes


@dataclass(frozen=True, slots=True)
class IndexSetting:
    """How documents are cut and embedded: the chunker with all its options, the most tokens of a chunk, the header."""

    chunker: str
    chunk_tokens: int
    header: bool


@dataclass(frozen=True, slots=True)
class ArmSetting:
    """How one arm is asked. None: without effect there (an exact arm has no `ef_search`). `deeper`: once more with ten times the
    pool, as search does where copies of a few texts filled it."""

    arm: Arm
    pool: int
    exact: bool
    budget: int | None = None
    rescored: int | None = None
    ef_search: int | None = None
    max_scan_tuples: int | None = None
    deeper: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """One configuration of retrieval. Values that have no effect are None, so that equal configurations are equal values: an arm
    alone has no fusion, and score fusion no `rrf_k`. `k`: the hits that count; None for all that the arms gave."""

    index: IndexSetting
    mode: Mode
    lexical: ArmSetting | None
    semantic: ArmSetting | None
    fusion: str | None
    semantic_weight: float | None
    rrf_k: int | None
    k: int | None
    reranker: str

    @property
    def arms(self) -> tuple[ArmSetting, ...]:
        return tuple(arm for arm in (self.lexical, self.semantic) if arm is not None)

    @property
    def pool(self) -> int:
        return self.arms[0].pool

    def alone(self, arm: Arm) -> Setting:
        """The same with one arm, unfused."""
        other = "semantic" if arm == "lexical" else "lexical"
        return replace(self, mode=arm, fusion=None, semantic_weight=None, rrf_k=None, **{other: None})  # type: ignore[arg-type]

    def values(self) -> dict[str, Value | None]:
        """By the key that sets it. A chunker's options are in its name; None: without effect here."""
        arms = self.arms
        lexical, semantic = self.lexical, self.semantic
        return {
            "chunker": self.index.chunker,
            "chunk_tokens": self.index.chunk_tokens,
            "header": self.index.header,
            "mode": self.mode,
            "pool": self.pool,
            "exact": arms[0].exact,
            "budget": lexical.budget if lexical else None,
            "rescored": lexical.rescored if lexical else None,
            "ef_search": semantic.ef_search if semantic else None,
            "max_scan_tuples": semantic.max_scan_tuples if semantic else None,
            "fusion": self.fusion,
            "semantic_weight": self.semantic_weight,
            "rrf_k": self.rrf_k,
            "k": self.k,
            "reranker": self.reranker,
        }


INDEX_KEYS = ("chunker", "chunk_tokens", "header")
"""Of `Setting.values`: those that need documents cut and embedded again."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an arm gave for one question, best first as the database had it; None: it could not be asked. `owners`: of chunks
    that were not known yet. `milliseconds` in the database, alone on the connection."""

    candidates: tuple[Candidate, ...] | None
    owners: Mapping[UUID, Owner]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents of a set as one index setting has them. `state` changes when what an arm could return does: who reads, what
    is there, how it was cut and embedded. `made`: the sweep made this tenant for itself."""

    tenant: str
    source: str | None
    state: str
    chunks: int
    made: bool


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of paired differences over queries, each set weighing the same, with its bootstrap interval at 95 % and the
    two-sided p of the paired randomisation test. Positive: better than what it is compared with."""

    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether fusion beats the better single arm: on every measure the whole interval lies above 0."""

    arm: Arm
    by_measure: Mapping[str, Interval]
    passed: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """One configuration's figures. `means`: measure → mean over the sets, each weighing the same; `by_set`: set → measure → mean.
    `beats` is the p of being better than the current configuration, corrected for having looked at all of them; `same_as` the
    place of an earlier configuration that ranked every query alike. `arms_ms`: the median of each arm."""

    number: int
    setting: Setting
    name: str
    is_current: bool
    means: Mapping[str, float]
    by_set: Mapping[str, Mapping[str, float]]
    against_current: Interval
    beats: float
    arms_ms: Mapping[str, float]
    same_as: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a set of queries decides for. `why` says which rule did: `kept` the current configuration, since nothing is proven
    better; `better`; `arm`: fusion does not beat the better arm. `best` is the one with the best mean, luck or not."""

    number: int
    best: int
    why: Literal["kept", "better", "arm"]
    gate: Gate | None


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: what the other folds chose, its mean there and here."""

    number: int
    queries: int
    choice: Choice
    training: float
    held_out: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What the way of choosing is worth on queries that did not choose. `optimism`: the mean over training folds less the one
    here. `against_current` and `gate` (against the arm that the training folds took for the better one) are over held-out
    queries alone. `agree`: folds that chose what all queries choose. `naive`: the mean here had each fold taken the best
    mean. `holds`: the mean here is at least the current configuration's."""

    measure: str
    folds: tuple[Fold, ...]
    mean: float
    current: float
    naive: float
    optimism: float
    against_current: Interval
    gate: Gate | None
    agree: int
    holds: bool


@dataclass(frozen=True, slots=True)
class SweptSet:
    """A judged set as it was swept. `choosing` of its `queries` choose; the others are private, and only reported. `made`: the
    tenants that the sweep made for itself. `chunks`: as the current configuration cuts."""

    name: str
    fingerprint: str
    queries: int
    choosing: int
    source: str | None
    tenants: tuple[str, ...]
    made: tuple[str, ...]
    documents: int | None
    chunks: int


@dataclass(frozen=True, slots=True)
class SweepReport:
    """A sweep's whole outcome. `measured` is in the order of the grid, the current configuration first; `choice` rests on all
    choosing queries. `private` gives the chosen and the current configuration's means on private queries. `work` counts what
    was done and what was found done: texts embedded, arms asked. `seconds` by phase."""

    started_at: str
    veraz: str
    space: str
    grid: Mapping[str, Any]
    measure: str
    seed: int
    sets: tuple[SweptSet, ...]
    measured: tuple[Measured, ...]
    choice: Choice
    held_out: HeldOut
    private: Mapping[str, Mapping[str, float]]
    work: Mapping[str, int]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    out: str = ""

    @property
    def chosen(self) -> Measured:
        return self.measured[self.choice.number]

    @property
    def current(self) -> Measured:
        return next(m for m in self.measured if m.is_current)
