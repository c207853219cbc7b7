"""What is asked of a search, as the arms take it, and what its result is made of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

from veraz.config import SearchConfig
from veraz.nouns.corpus import SpaceIndex, Vectors
from veraz.nouns.evidence import Hit, Mode, SearchResult
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.fusion import Candidate, FusionSettings
from veraz.search.reranking import RerankRun
from veraz.search.syntax import Reading

EVERY_POSTING = 2_000_000_000
"""A budget that no question exceeds."""
SCAN_COST = 30
"""How many vectors an exact scan compares in the time in which the index's scan reaches one more candidate. With random vectors,
the hardest for an index, bench/tenants.py finds both equally fast at about 45; real ones are easier, hence less."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question as search takes it: `lang` is the analyser's language, already decided; `k` hits are returned; `exact` reads
    every posting and compares every vector, `few` the latter alone; `as_of` searches the revisions that held on that day. `own`
    current chunks of the tenant and `indexed` vectors of all tenants decide how a filtered search goes about it. `abroad`: there
    are chunks of another analyser than the question's; `told`: its words leave no doubt which language it is in. `index`
    is the one that the space has; `ef_search`, `probes` and `oversampling` say how far it is read; None: as configured, or
    recorded with it."""

    question: str
    lang: str
    analyser: str
    mode: Mode = "hybrid"
    k: int = 10
    filters: Filters = field(default_factory=Filters)
    fusion: str | None = None
    exact: bool = False
    explain: bool = False
    as_of: date | None = None
    few: bool = False
    own: int = 0
    indexed: int = 0
    abroad: bool = False
    told: bool = False
    index: SpaceIndex = field(default_factory=SpaceIndex)
    ef_search: int | None = None
    probes: int | None = None
    oversampling: int | None = None


class Timer:
    """Milliseconds per stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + round((time.perf_counter() - started) * 1000, 3)

    def finish(self) -> dict[str, float]:
        return {**self.stages, "total": round((time.perf_counter() - self._started) * 1000, 3)}


@dataclass(frozen=True, slots=True)
class SearchRun:
    """A result with what later stages need of how it came about: the question's vector, both arms' candidates, which of them
    read everything, how they were fused, and what was asked. `fused`: the hits that were read, before a reranker saw them;
    `reranked`: what came of that, None where none was asked."""

    result: SearchResult
    vector: Vectors | None
    arms: Mapping[str, Sequence[Candidate]]
    exact: Mapping[str, bool]
    fusion: FusionSettings
    request: SearchRequest
    fused: tuple[Hit, ...] = ()
    reranked: RerankRun | None = None


def condition_of(request: SearchRequest, reading: Reading) -> store.Condition | None:
    if reading.condition is None:
        return None
    return store.Condition(reading.condition, request.analyser, reading.is_selective)


def lexical_question(request: SearchRequest, reading: Reading, config: SearchConfig) -> store.LexicalQuestion:
    budget = EVERY_POSTING if request.exact else config.budget
    return store.LexicalQuestion(
        text=reading.text,
        analyser=request.analyser,
        pool=config.pool,
        budget=budget,
        rescored=config.rescored,
        condition=condition_of(request, reading),
        scorer=config.scorer,
    )


def semantic_question(
    request: SearchRequest,
    reading: Reading,
    vector: Vectors | None,
    space_id: int | None,
    config: SearchConfig,
) -> store.SemanticQuestion | None:
    if vector is None or space_id is None:
        return None
    looked = looks(request, config)
    lists = request.index.options.get("lists", 1)
    return store.SemanticQuestion(
        vector,
        space_id,
        config.pool,
        looked["ef_search"],
        config.max_scan_tuples,
        request.exact or request.few or request.index.kind == "none",
        condition_of(request, reading),
        kind=request.index.kind,
        probes=looked.get("probes", 1),
        cluster=max(1, request.indexed // lists),
        oversampling=looked.get("oversampling", 1),
        distance=request.index.distance,
    )


def looks(request: SearchRequest, config: SearchConfig) -> dict[str, int]:
    """How far the index of the space is read: as the request says, else the configuration, else what is recorded with it."""
    options = request.index.options
    found = {"ef_search": request.ef_search or config.ef_search}
    if request.index.kind == "ivfflat":
        found["probes"] = request.probes or config.probes or options.get("probes", 1)
    if request.index.kind == "binary":
        found["oversampling"] = request.oversampling or config.oversampling or options.get("oversampling", 8)
    return found


def few_rows(own: int, indexed: int, pool: int) -> bool:
    """Whether comparing the `own` vectors of a tenant costs less than walking an index that all tenants share, which meets one
    of them in every indexed/own candidates: own <= SCAN_COST * pool * indexed / own."""
    return own * own <= SCAN_COST * pool * max(indexed, own)
