"""What an index of a space is built with, and whether one of signs may be. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from veraz.errors import CheckFailed, UsageError
from veraz.nouns.corpus import IndexKind
from veraz.nouns.measure import IndexFigure
from veraz.ops.measure.methods import cluster_bytes, usual_lists, usual_probes
from veraz.ops.measure.recall import FLOOR

KINDS: tuple[IndexKind, ...] = get_args(IndexKind)
OPTIONS: Mapping[IndexKind, tuple[str, ...]] = {
    "hnsw": ("m", "ef_construction"),
    "ivfflat": ("lists", "probes"),
    "binary": ("m", "ef_construction", "oversampling"),
    "none": (),
}
LIMITS = {
    "m": (2, 100),
    "ef_construction": (4, 1000),
    "lists": (1, 32_768),
    "probes": (1, 32_768),
    "oversampling": (1, 1000),
}
"""pgvector's, but for oversampling."""
M, EF_CONSTRUCTION = 16, 64
"""pgvector's defaults."""
OVERSAMPLING = 8
LARGER = (16, 32, 64)
"""Oversamplings that are tried beside the one that was asked for, so that a refusal can name one that would do."""
QUERIES = 100
"""Vectors of the corpus that are asked for before an index of signs may be built."""
CUTOFFS = (10, 50)
"""Where the recall of an index of signs is cut before it may be built; the least of these counts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`built` are the index's own options, `options` all that is recorded with the space, `memory` bytes that a build needs."""

    kind: IndexKind
    built: Mapping[str, int]
    options: Mapping[str, int]
    memory: int = 0


def check_options(kind: str, stated: Mapping[str, int | None]) -> dict[str, int]:
    """What is stated. Raises UsageError for a kind that is none, and for an option that is another kind's or out of bounds."""
    if kind not in KINDS:
        raise UsageError(f"kind is {kind!r}", fix=f"use one of: {', '.join(KINDS)}")
    given = {name: value for name, value in stated.items() if value is not None}
    for name, value in given.items():
        if name not in OPTIONS[kind]:
            owners = [other for other in KINDS if name in OPTIONS[other]]
            raise UsageError(
                f"{name} is no option of {kind}", fix=f"leave it out; {' and '.join(owners)} has it"
            )
        low, high = LIMITS[name]
        if type(value) is not int or not low <= value <= high:
            raise UsageError(f"{name} is {value!r}", fix=f"give a whole number from {low} to {high:,}")
    m, ef = given.get("m", M), given.get("ef_construction", EF_CONSTRUCTION)
    if ef < 2 * m and "m" in OPTIONS[kind]:
        raise UsageError(f"ef_construction {ef} is less than twice m {m}", fix=f"give at least {2 * m}")
    return given


def planned(kind: IndexKind, stated: Mapping[str, int], *, vectors: int, dimension: int) -> Plan:
    """The plan of an index over so many vectors. Raises UsageError for clusters of nothing."""
    if kind == "none":
        return Plan(kind, {}, {})
    if kind == "ivfflat":
        return _clusters(stated, vectors, dimension)
    built = {"m": stated.get("m", M), "ef_construction": stated.get("ef_construction", EF_CONSTRUCTION)}
    if kind == "binary":
        return Plan(kind, built, {**built, "oversampling": stated.get("oversampling", OVERSAMPLING)})
    return Plan(kind, built, built)


def _clusters(stated: Mapping[str, int], vectors: int, dimension: int) -> Plan:
    if not vectors:
        raise UsageError(
            "the space has no vectors, of which clusters could be made",
            fix="ingest documents first, or keep a graph: veraz index build --kind hnsw",
        )
    lists = stated.get("lists", usual_lists(vectors))
    probes = min(lists, stated.get("probes", usual_probes(lists)[-1]))
    return Plan(
        "ivfflat", {"lists": lists}, {"lists": lists, "probes": probes}, cluster_bytes(lists, dimension)
    )


def tried(oversampling: int) -> tuple[int, ...]:
    """The oversamplings that are measured before an index of signs is built."""
    return (oversampling, *(n for n in LARGER if n > oversampling))


def signs_suffice(figures: Sequence[IndexFigure], oversampling: int, space: str) -> dict[str, float]:
    """The recall with that oversampling, by cut-off. Raises CheckFailed where it is below the floor, UsageError where nothing
    could be measured."""
    measured: dict[int, dict[str, float]] = {}
    for row in figures:
        if row.method == "binary":
            measured.setdefault(row.settings["oversampling"], {})[f"recall@{row.k}"] = row.recall
    found = measured.get(oversampling)
    if not found:
        raise UsageError(
            "there are too few vectors to measure what an index of signs would find",
            fix="ingest documents first",
        )
    cut, least = min(found.items(), key=lambda entry: entry[1])
    if least >= FLOOR:
        return found
    enough = [n for n, recalls in measured.items() if min(recalls.values()) >= FLOOR]
    other = (
        f"--oversampling {min(enough)} reaches {min(measured[min(enough)].values()):.3f}; or keep a graph of whole vectors"
        if enough
        else "keep a graph of whole vectors"
    )
    raise CheckFailed(
        f"an index of signs is refused for space {space}: on the corpus's own vectors, with oversampling {oversampling}, "
        f"its {cut} is {least:.3f}, under {FLOOR}",
        fix=f"{other}: veraz index build --kind hnsw",
    )
