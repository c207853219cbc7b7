"""Measures every configuration of a grid and chooses one. Orchestration only: what is searched, and how, is given to it.

All corpora are loaded before any arm is asked, so that each is asked beside the same others; each way of asking an arm is asked
once for each question; every configuration is then computed from what the arms gave.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

import numpy as np

from veraz.errors import UsageError
from veraz.evaluation.dataset import Dataset
from veraz.evaluation.documents import rank_documents
from veraz.evaluation.measures import DEFAULT_KS, Measure, check_available, measures_for, score
from veraz.evaluation.statistics import SEED, Array
from veraz.evaluation.sweeps import strata as st
from veraz.evaluation.sweeps.choosing import Table, choose, validate
from veraz.evaluation.sweeps.folds import split
from veraz.evaluation.sweeps.grid import Base, Grid, WithOptions, base_arms, deeper, expand
from veraz.evaluation.sweeps.kept import KeptArms, arms_path, witnesses
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.evidence import Candidate
from veraz.nouns.sweep import (
    INDEX_KEYS,
    ArmSetting,
    Asked,
    Corpus,
    IndexSetting,
    Measured,
    Owner,
    Setting,
    SweepReport,
    SweptSet,
)

MEASURES = (
    *(m for m in measures_for((5, 10, 20)) if m.kind in ("ndcg", "recall", "mrr")),
    Measure("map"),
)
"""What each configuration is given; those of `GATE_MEASURES` and the one that decides are among them."""

DEPTH = max(DEFAULT_KS)
"""Documents of a ranking that count, as in a run of an evaluation."""
TABLE_SAMPLES = 2_000
"""Random signs and resamples of each line of the table; what decides takes more."""

Progress = Callable[[str, int, int], None]
"""Called with the phase ("load", "ask", "compute" or "choose"), what is done of it, and all of it."""
Loading = Callable[[str, int, int | None], None]
"""Called while a corpus is loaded, with the set's name and the documents so far and in all."""


@dataclass(frozen=True, slots=True)
class SweepSet:
    """A judged set: where its documents are. With `tenant` or `source`, what is ingested there; else `corpus_path` of the dataset
    is loaded, once for each index setting."""

    dataset: Dataset
    source: str | None = None
    tenant: str | None = None

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def is_ingested(self) -> bool:
        return self.source is not None or self.tenant is not None or self.dataset.corpus_path is None


class Bench(Protocol):
    """What a sweep asks of search."""

    async def load(self, of: SweepSet, index: IndexSetting, loading: Loading) -> Corpus:
        """The set's documents, cut and embedded as `index` says, or as they are ingested. Safe to repeat, at no cost."""
        ...

    async def ask(self, corpus: Corpus, arm: ArmSetting, question: str, known: Mapping[UUID, Owner]) -> Asked:
        """What one arm gives; `known` owners need not be told again."""
        ...

    def rank(
        self,
        arms: Mapping[str, Sequence[Candidate]],
        owners: Mapping[UUID, Owner],
        setting: Setting,
        *,
        deepened: bool,
    ) -> tuple[tuple[RankedItem, ...], bool]:
        """The ranking that search would return, and whether it would ask the arms deeper before. `deepened`: it did."""
        ...


Rerank = Callable[[str, tuple[RankedItem, ...], Corpus, Setting], Awaitable[tuple[RankedItem, ...]]]
"""A question and its fused ranking, best first → the ranking as the reranker has it, of as many hits as the setting shows."""
Rerankers = Mapping[str, Rerank | None]
"""By name; None leaves the order as it is."""
NO_RERANKERS: Rerankers = {"none": None}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be swept. `folds` of the choosing queries take turns in being held out; `seed` decides which."""

    sets: tuple[SweepSet, ...]
    grid: Grid
    base: Base
    folds: int = 5
    seed: int = SEED
    measure: str = "ndcg@10"


@dataclass(slots=True)
class _Work:
    """Counted for the report."""

    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, what: str, n: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + n

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = round(self.seconds.get(phase, 0.0) + time.perf_counter() - started, 3)


Loaded = Mapping[tuple[str, IndexSetting], Corpus]
PerQuery = dict[str, Mapping[str, float]]
"""Query id → measure → value."""
Rankings = dict[str, tuple[str, ...]]
"""Query id → document ids, best first."""


def check_plan(plan: Plan) -> None:
    """Raises UsageError for what would only be noticed after hours: sets of one name, a measure that is not taken, index keys
    over documents that cannot be cut again, too few queries for the folds. Raises ConfigError without ir_measures."""
    check_available()
    if plan.measure not in {m.name for m in MEASURES}:
        raise UsageError(
            f"--measure {plan.measure!r} is not taken here",
            fix=f"one of {', '.join(m.name for m in MEASURES)}",
        )
    names = [of.name for of in plan.sets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"two sets are called {', '.join(twice)}",
            fix="rename a folder: sets are named after their folders",
        )
    if plan.grid.cuts and (fixed := [of.name for of in plan.sets if of.is_ingested]):
        keys = [key for key in plan.grid.axes if key in (*INDEX_KEYS, "size", "overlap")]
        raise UsageError(
            f"the grid varies {', '.join(keys)}, but {', '.join(fixed)} is evaluated as it is ingested",
            fix="give its documents with --corpus SET=FILE, or leave these keys out of the grid",
        )
    split([name for name, _ in _choosing(plan.sets)], plan.folds, plan.seed)


async def sweep(
    plan: Plan,
    bench: Bench,
    out: Path,
    *,
    with_options: WithOptions,
    rerankers: Rerankers = NO_RERANKERS,
    space: str = "",
    version: str = "",
    progress: Progress | None = None,
    loading: Loading | None = None,
) -> SweepReport:
    """Measures every configuration of the plan and chooses one. What arms gave is kept in `out`, which the caller holds
    (`kept.claimed`), as it comes: run again after a kill, the sweep goes on where it stood. Raises UsageError as `check_plan`."""
    check_plan(plan)
    settings = expand(plan.grid, plan.base, with_options)
    started, work, report = datetime.now(UTC), _Work(), progress or (lambda *_: None)
    with work.timed("load"):
        loaded = await _load(plan, settings, bench, loading or (lambda *_: None), report)
    with ExitStack() as files:
        arms = _Arms(bench, out, work, files)
        with work.timed("ask"):
            await _ask(plan, settings, loaded, arms, report)
        with work.timed("compute"):
            figures, alike = await _compute(plan, settings, loaded, arms, rerankers, report)
    medians = arms.medians
    with work.timed("choose"):
        report("choose", 0, 1)
        table = _table(plan, settings, figures, choosing=True)
        choice = choose(table, seed=plan.seed)
        folds = split(table.strata, plan.folds, plan.seed)
        held_out = validate(table, folds, choice, seed=plan.seed)
        measured = _measured(plan, settings, table, alike, medians)
        report("choose", 1, 1)
    private = _table(plan, settings, figures, choosing=False)
    return SweepReport(
        started_at=started.isoformat(timespec="seconds"),
        veraz=version,
        space=space,
        grid={key: list(values) for key, values in plan.grid.axes.items()},
        measure=plan.measure,
        seed=plan.seed,
        sets=tuple(_swept(of, settings, loaded) for of in plan.sets),
        measured=measured,
        choice=choice,
        held_out=held_out,
        private=_private(private, choice.number),
        work=work.counts,
        seconds=work.seconds,
        warnings=tuple(
            dict.fromkeys([*(w for of in plan.sets for w in of.dataset.warnings), *work.warnings])
        ),
    )


async def _load(
    plan: Plan, settings: Sequence[Setting], bench: Bench, loading: Loading, report: Progress
) -> Loaded:
    indexes = tuple(dict.fromkeys(setting.index for setting in settings))
    wanted = [(of, index) for of in plan.sets for index in indexes]
    loaded: dict[tuple[str, IndexSetting], Corpus] = {}
    for done, (of, index) in enumerate(wanted):
        report("load", done, len(wanted))
        loaded[of.name, index] = await bench.load(of, index, loading)
    report("load", len(wanted), len(wanted))
    return loaded


class _Arms:
    """What arms gave, asked at most once for each question."""

    def __init__(self, bench: Bench, out: Path, work: _Work, files: ExitStack) -> None:
        self._bench = bench
        self._out = out
        self._work = work
        self._files = files
        self._kept: dict[tuple[Corpus, ArmSetting], KeptArms] = {}
        self._owners: dict[Corpus, dict[UUID, Owner]] = {}
        self._read: dict[tuple[Corpus, ArmSetting, str], tuple[Candidate, ...] | None] = {}

    async def prepare(self, corpus: Corpus, arm: ArmSetting, questions: Sequence[str]) -> None:
        """Takes what was kept, after asking a few of these questions again to see whether it still holds."""
        kept = self._kept[corpus, arm] = KeptArms(
            arms_path(self._out, {"of": asdict(corpus), "arm": asdict(arm)})
        )
        self._files.callback(kept.close)
        for question in witnesses(questions, kept):
            before = kept.get(question)
            if before is None or (await self._ask(corpus, arm, question)).candidates != before.candidates:
                self._work.warnings.append(
                    f"{corpus.tenant}: documents changed since the sweep was begun; its {arm.arm} arm is asked anew"
                )
                kept.forget()
                break
        self._owners.setdefault(corpus, {}).update(kept.owners)
        self._work.add("arms kept", kept.known)

    async def get(self, corpus: Corpus, arm: ArmSetting, question: str) -> tuple[Candidate, ...] | None:
        """None: this arm cannot be asked that. Held until `forget_read`."""
        if (corpus, arm, question) in self._read:
            return self._read[corpus, arm, question]
        if (corpus, arm) not in self._kept:
            await self.prepare(corpus, arm, (question,))
        kept = self._kept[corpus, arm]
        asked = kept.get(question)
        if asked is None:
            asked = await self._ask(corpus, arm, question)
            kept.keep(question, asked)
            self._work.add("arms asked")
        self._read[corpus, arm, question] = asked.candidates
        return asked.candidates

    def forget_read(self) -> None:
        """Only the candidates of some questions are in memory at a time; the others are in files."""
        self._read.clear()

    async def ranked(self, corpus: Corpus, setting: Setting, question: str) -> tuple[RankedItem, ...]:
        """As search would: asked deeper where copies of a few texts filled the pools."""
        given = await self._given(corpus, setting.arms, question)
        ranked, again = self._bench.rank(given, self._owners[corpus], setting, deepened=False)
        if again:
            given = await self._given(corpus, [deeper(arm) for arm in setting.arms], question)
            ranked, _ = self._bench.rank(given, self._owners[corpus], setting, deepened=True)
        return ranked

    @property
    def medians(self) -> Mapping[ArmSetting, float]:
        """Milliseconds of each way of asking, over all corpora."""
        times: dict[ArmSetting, list[float]] = {}
        for (_, arm), kept in self._kept.items():
            times.setdefault(arm, []).extend(kept.milliseconds)
        return {arm: round(float(np.median(found)), 2) for arm, found in times.items() if found}

    async def _given(
        self, corpus: Corpus, asked: Sequence[ArmSetting], question: str
    ) -> dict[str, Sequence[Candidate]]:
        given = {arm.arm: await self.get(corpus, arm, question) for arm in asked}
        return {name: candidates for name, candidates in given.items() if candidates is not None}

    async def _ask(self, corpus: Corpus, arm: ArmSetting, question: str) -> Asked:
        """With the owners of all its candidates, so that each record on disk can be read without the others."""
        owners = self._owners.setdefault(corpus, {})
        asked = await self._bench.ask(corpus, arm, question, owners)
        owners.update(asked.owners)
        ids = [c.chunk_id for c in asked.candidates or ()]
        return replace(asked, owners={key: owners[key] for key in ids if key in owners})


async def _ask(
    plan: Plan, settings: Sequence[Setting], loaded: Loaded, arms: _Arms, report: Progress
) -> None:
    wanted = [
        (loaded[of.name, index], arm, tuple(of.dataset.judged.values()))
        for index, arm in base_arms(settings)
        for of in plan.sets
    ]
    total, done = sum(len(questions) for *_, questions in wanted), 0
    for corpus, arm, questions in wanted:
        await arms.prepare(corpus, arm, questions)
        for question in questions:
            await arms.get(corpus, arm, question)
            arms.forget_read()
            done += 1
            report("ask", done, total)


async def _compute(
    plan: Plan,
    settings: Sequence[Setting],
    loaded: Loaded,
    arms: _Arms,
    rerankers: Rerankers,
    report: Progress,
) -> tuple[list[dict[str, PerQuery]], list[int | None]]:
    """Each configuration's figures by set, and the first configuration that ranked everything alike. Question by question, so
    that what the arms gave for one is read once for all configurations."""
    total, done = len(settings) * sum(len(of.dataset.judged) for of in plan.sets), 0
    rankings: list[dict[str, Rankings]] = [{of.name: {} for of in plan.sets} for _ in settings]
    for of in plan.sets:
        for query_id, question in of.dataset.judged.items():
            for setting, found in zip(settings, rankings, strict=True):
                corpus = loaded[of.name, setting.index]
                ranked = await arms.ranked(corpus, setting, question)
                rerank = rerankers[setting.reranker]
                if rerank is not None:
                    ranked = await rerank(question, ranked, corpus, setting)
                found[of.name][query_id] = tuple(item.docid for item in rank_documents(ranked, DEPTH))
            done += len(settings)
            report("compute", done, total)
            arms.forget_read()
    figures = [
        {of.name: dict(score(found[of.name], of.dataset.qrels, MEASURES).per_query) for of in plan.sets}
        for found in rankings
    ]
    return figures, _alike(settings, rankings)


def _alike(settings: Sequence[Setting], rankings: Sequence[Mapping[str, Rankings]]) -> list[int | None]:
    first: dict[int, int] = {}
    found: list[int | None] = []
    for number, (setting, ranked) in enumerate(zip(settings, rankings, strict=True)):
        everything = tuple((name, tuple(sorted(of.items()))) for name, of in ranked.items())
        place = first.setdefault(hash((setting.index, everything)), number)
        found.append(None if place == number else place)
    return found


def _choosing(sets: Sequence[SweepSet], *, choosing: bool = True) -> list[tuple[str, str]]:
    """Set and id of each query that may choose, or of each that may not."""
    return [
        (of.name, query_id)
        for of in sets
        for query_id in of.dataset.judged
        if (query_id in _may_choose(of.dataset)) == choosing
    ]


def _may_choose(dataset: Dataset) -> Collection[str]:
    """All judged queries, but the private ones of a suite that has a private split."""
    return dataset.choosing.judged.keys()


def _table(
    plan: Plan, settings: Sequence[Setting], figures: Sequence[Mapping[str, PerQuery]], *, choosing: bool
) -> Table:
    queries = _choosing(plan.sets, choosing=choosing)

    def values(measure: str) -> Array:
        rows = [[found[name][query_id][measure] for name, query_id in queries] for found in figures]
        return np.array(rows, dtype=np.float64)

    changes = [plan.base.differences(setting) for setting in settings]
    return Table(
        settings=settings,
        changes=[
            (sum(key in INDEX_KEYS for key in c), sum(key not in INDEX_KEYS for key in c)) for c in changes
        ],
        values={measure.name: values(measure.name) for measure in MEASURES},
        strata=[name for name, _ in queries],
        measure=plan.measure,
    )


def _measured(
    plan: Plan,
    settings: Sequence[Setting],
    table: Table,
    alike: Sequence[int | None],
    medians: Mapping[ArmSetting, float],
) -> tuple[Measured, ...]:
    values = table.values[plan.measure]
    better = st.better_than(values - values[0], table.strata, seed=plan.seed)
    weights = st.weights(table.strata)
    names = np.array(table.strata)
    sets = {of.name: names == of.name for of in plan.sets}
    return tuple(
        Measured(
            number=number,
            setting=setting,
            name=plan.base.name(setting),
            is_current=number == 0,
            means={m: float(found[number] @ weights) for m, found in table.values.items()},
            by_set={
                name: {m: float(found[number, here].mean()) for m, found in table.values.items()}
                for name, here in sets.items()
            },
            against_current=table.against(number, 0, samples=TABLE_SAMPLES, seed=plan.seed),
            beats=float(better[number]),
            arms_ms={arm.arm: medians[arm] for arm in setting.arms if arm in medians},
            same_as=alike[number],
        )
        for number, setting in enumerate(settings)
    )


def _swept(of: SweepSet, settings: Sequence[Setting], loaded: Loaded) -> SweptSet:
    corpora = [loaded[of.name, index] for index in dict.fromkeys(s.index for s in settings)]
    allowed = _may_choose(of.dataset)
    return SweptSet(
        name=of.name,
        fingerprint=of.dataset.fingerprint,
        queries=len(of.dataset.judged),
        choosing=sum(query_id in allowed for query_id in of.dataset.judged),
        source=of.source,
        tenants=tuple(dict.fromkeys(corpus.tenant for corpus in corpora)),
        made=tuple(dict.fromkeys(corpus.tenant for corpus in corpora if corpus.made)),
        documents=of.dataset.documents,
        chunks=corpora[0].chunks,
    )


def _private(table: Table, chosen: int) -> dict[str, dict[str, float]]:
    """Means of the chosen and the current configuration over queries that chose nothing; empty where there are none."""
    if not table.strata:
        return {}
    weights = st.weights(table.strata)
    return {
        name: {measure: float(values[number] @ weights) for measure, values in table.values.items()}
        for name, number in (("chosen", chosen), ("current", 0))
    }
