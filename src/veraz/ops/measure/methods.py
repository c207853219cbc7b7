"""Which methods are measured, and with which settings. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from veraz.errors import UsageError
from veraz.nouns.measure import Method, Scope

METHODS: tuple[Method, ...] = get_args(Method)
USUAL: tuple[Method, ...] = ("exact", "hnsw", "ivfflat", "binary", "binary_centred")
MOST_EF = 1000
"""pgvector's limit of hnsw.ef_search."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a caller states of a measurement; None and empty leave it to the size of the store. `ks`: where recall is cut;
    `queries`: the most that are asked; `seed` decides which are drawn. `m` and `ef_construction` of graphs that are
    built; None: as the live index has them."""

    ks: tuple[int, ...] = (10, 50)
    queries: int = 100
    methods: tuple[Method, ...] = USUAL
    scope: Scope = "store"
    ef_search: tuple[int, ...] = ()
    lists: int | None = None
    probes: tuple[int, ...] = ()
    oversampling: tuple[int, ...] = (8,)
    lexical: bool = True
    seed: int = 1
    m: int | None = None
    ef_construction: int | None = None

    @property
    def built(self) -> tuple[Method, ...]:
        """Methods that need an index of their own."""
        return tuple(m for m in self.methods if m not in ("exact", "hnsw"))


def check(choices: Choices) -> None:
    """Raises UsageError for a choice that no server takes."""
    if unknown := [m for m in choices.methods if m not in METHODS]:
        raise UsageError(f"unknown methods: {', '.join(unknown)}", fix=f"known: {', '.join(METHODS)}")
    if not choices.methods or not choices.ks:
        raise UsageError("nothing to measure", fix="name methods and cut-offs: --methods exact,hnsw --k 10")
    limits = {
        "k": (choices.ks, 1, MOST_EF),
        "queries": ((choices.queries,), 1, 100_000),
        "ef_search": (choices.ef_search, 1, MOST_EF),
        "probes": (choices.probes, 1, 32_768),
        "lists": ((choices.lists,) if choices.lists is not None else (), 1, 32_768),
        "oversampling": (choices.oversampling, 1, 1000),
    }
    for name, (given, low, high) in limits.items():
        for value in given:
            if type(value) is not int or not low <= value <= high:
                raise UsageError(f"{name} is {value!r}", fix=f"give whole numbers from {low} to {high:,}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One way of asking an index. `shown` is what the figures say; `options` are pgvector's."""

    shown: Mapping[str, Any]
    ef_search: int
    probes: int = 1
    candidates: int | None = None
    build: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shape:
    """What settings follow from: the rows that are copied, how many of a query's are read, and the live index's own options."""

    rows: int
    pool: int
    m: int
    ef_construction: int
    ef_search: int


def settings_of(method: Method, choices: Choices, shape: Shape) -> tuple[Setting, ...]:
    """Every way in which a method is asked. Those of one method share one index."""
    graph = {"m": shape.m, "ef_construction": shape.ef_construction}
    reach = choices.ef_search or (shape.ef_search,)
    if method in ("hnsw", "hnsw_fresh"):
        return tuple(Setting({**graph, "ef_search": ef}, ef, build=graph) for ef in reach)
    if method == "ivfflat":
        lists = choices.lists or usual_lists(shape.rows)
        probes = choices.probes or usual_probes(lists)
        return tuple(
            Setting({"lists": lists, "probes": n}, shape.ef_search, probes=n, build={"lists": lists})
            for n in dict.fromkeys(min(p, lists) for p in probes)
        )
    return tuple(_signs(n, graph, shape) for n in choices.oversampling)


def _signs(oversampling: int, graph: Mapping[str, int], shape: Shape) -> Setting:
    candidates = oversampling * shape.pool
    reach = min(MOST_EF, max(shape.ef_search, candidates))
    shown = {**graph, "oversampling": oversampling, "ef_search": reach}
    return Setting(shown, reach, candidates=candidates, build=graph)


def usual_lists(rows: int) -> int:
    """pgvector's advice: rows / 1000 up to a million, their square root above."""
    return max(1, rows // 1000 if rows <= 1_000_000 else math.isqrt(rows))


def usual_probes(lists: int) -> tuple[int, ...]:
    """pgvector's advice, the square root of the lists, and four times that."""
    root = max(1, math.isqrt(lists))
    return tuple(dict.fromkeys(min(n, lists) for n in (root, 4 * root)))


def cluster_bytes(lists: int, dimension: int) -> int:
    """Memory that pgvector asks for to find `lists` clusters: its sample, the centres, and bounds of every sample to every
    centre (Elkan's k-means)."""
    sample = max(10_000, 50 * lists)
    vectors = (sample + 3 * lists) * (4 * dimension + 16)
    bounds = 4 * (sample * lists + lists * lists + 4 * sample)
    return int(1.2 * (vectors + bounds)) + 16 * 2**20


def options_of(reloptions: Sequence[str] | None) -> dict[str, int]:
    """`m` and `ef_construction` of an index; pgvector's defaults where it states none."""
    given = dict(option.split("=", 1) for option in reloptions or ())
    return {"m": int(given.get("m", 16)), "ef_construction": int(given.get("ef_construction", 64))}
