"""What `diagnose` returns: the stage that lost a passage, and the smallest change that brings it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Stage = Literal[
    "never_ingested",
    "refused",
    "cut",
    "embedding_missing",
    "not_current",
    "deleted",
    "filtered",
    "not_permitted",
    "routed",
    "not_in_lexical_pool",
    "truncated_by_budget",
    "not_in_semantic_pool",
    "approximate_miss",
    "lost_in_fusion",
    "folded",
    "lost_in_rerank",
    "cut_by_k",
    "cut_by_answer_budget",
    "under_threshold",
    "not_selected",
    "dropped_by_validation",
    "found",
]
"""In the order in which a passage meets them; the first that lost it is named. Without a reranker nothing is lost in
`lost_in_rerank`."""

Verb = Literal["search", "ask"]

ChangeKind = Literal["request", "settings", "ingest", "reingest", "restore", "supersede", "access"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that brings a passage back past the stage that lost it.

    `kind` says what is changed. request: arguments of the question (`values` are named as those of `AsyncVeraz.search`; `filters`
    holds single conditions, `roles` who asks, `verb` whether it is searched or answered, `question` other words), and where
    `settings` is not empty, those keys with them. settings: keys of the configuration, as `search.pool`. The others change the
    store: ingest and reingest (`path` where it is known, `chunker`, keys of [ingest] under `ingest`, `delete_first`), restore,
    supersede (`undo`, or `by`), access (the fields that change). `command` says it for a shell or for veraz.toml. `verified`: it
    was tried, and the passage came back; None where trying would write.
    """

    kind: ChangeKind
    values: Mapping[str, Any]
    command: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class StagePassed:
    """One row of the walk. `state`: passed, lost, or unasked (a stage that this question does not have). `facts` are figures:
    `rank` counts from 1, `score` is higher for better."""

    stage: Stage
    state: Literal["passed", "lost", "unasked"]
    detail: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`stage` lost the passage, or is `found`, at `rank` (1 is best). `cause` says more closely why, where a stage has several.
    `change` is the smallest change known, `others` are further ones; None where none helps by itself. `source`, `ord` and
    `revision` name the passage as far as it was found."""

    question: str
    expect: str
    source: str | None
    ord: int | None
    revision: int | None
    stage: Stage
    cause: str | None
    detail: str
    rank: int | None
    change: Change | None
    others: tuple[Change, ...]
    rows: tuple[StagePassed, ...]
    lang: str | None
    mode: str
    verb: Verb


@dataclass(frozen=True, slots=True)
class Missed:
    """A judged document that a run missed: `grade` is above 0."""

    query_id: str
    grade: int
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True)
class Cluster:
    """The failures that one stage caused, and one kind of change that mends most of them. `examples` are query ids with the
    document that was missed."""

    stage: Stage
    cause: str | None
    count: int
    share: float
    examples: tuple[tuple[str, str], ...]
    remedy: str | None
    mended: int


@dataclass(frozen=True, slots=True)
class SuiteDiagnosis:
    """`judged` relevant documents over `queries`; `missed` of them were not among the first `k`. `clusters`: most failures first.
    `remedy` mends `mended` of the failures: more than any other single change."""

    dataset: str
    k: int
    mode: str
    queries: int
    judged: int
    missed: int
    clusters: tuple[Cluster, ...]
    remedy: str | None
    mended: int
    failures: tuple[Missed, ...]
    warnings: tuple[str, ...] = ()
