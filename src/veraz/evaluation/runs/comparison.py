"""Runs side by side: whether they may be compared, how they differ, and what differs in what they were made with. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from veraz.errors import UsageError
from veraz.evaluation.statistics import ROUNDING, SAMPLES, SEED, compare, corrected
from veraz.nouns.evaluation import (
    EvalReport,
    QueryChange,
    QueryResult,
    RunComparison,
    SettingChange,
    StoredRun,
)

FIRST = ("ndcg@10", "recall@10", "recall@20", "mrr@10", "map")
"""What is compared unless measures are named, as far as both runs have it: each further one costs Holm's correction power."""
CHANGED = 10
IGNORED = ("corpus.newest",)
"""What changes by itself and explains nothing."""


def compare_runs(
    runs: Sequence[StoredRun],
    *,
    measures: Sequence[str] = (),
    changed: int = CHANGED,
    confidence: float = 0.95,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> tuple[RunComparison, ...]:
    """Each further run against the first, corrected together (Holm) over all runs and measures. `changed` queries are listed
    that changed most on the first measure.

    Raises UsageError, saying why, where runs cannot be compared: fewer than two, other queries, judgements or collections, or no
    measure that all have.
    """
    if len(runs) < 2:
        raise UsageError("there is one run only", fix="name two or more: veraz eval compare A B")
    baseline, others = runs[0], runs[1:]
    for run in others:
        check_comparable(baseline, run)
    chosen = _measures(runs, measures)
    made = corrected(
        compare(run.values, baseline.values, measure, samples=samples, seed=seed, confidence=confidence)
        for run in others
        for measure in chosen
    )
    rows = [made[start : start + len(chosen)] for start in range(0, len(made), len(chosen))]
    return tuple(
        RunComparison(
            baseline=label(baseline),
            run=label(run),
            measure=chosen[0],
            comparisons=row,
            changed=changes(baseline, run, chosen[0])[:changed],
            settings=setting_changes(baseline.header, run.header),
            warnings=tuple(_warnings(baseline, run)),
            differences=differences(baseline, run, chosen[0]),
        )
        for run, row in zip(others, rows, strict=True)
    )


def check_comparable(baseline: StoredRun, run: StoredRun) -> None:
    """Raises UsageError where the figures of the two are not of the same queries and judgements over the same collection."""
    odd = sorted(set(baseline.values) ^ set(run.values))
    pair = f"{label(baseline)} and {label(run)}"
    if odd:
        raise UsageError(
            f"{pair} judge different queries: {len(odd)} are in one only ({_some(odd)})",
            fix="compare runs over the same queries and judgements",
        )
    earlier = _by_id(baseline)
    regraded = [r.query_id for r in run.results if _regraded(earlier[r.query_id], r)]
    if regraded:
        raise UsageError(
            f"{pair} have other judgements: {len(regraded)} queries differ ({_some(regraded)})",
            fix="evaluate the older one again with the judgements of today",
        )
    before, after = baseline.header.fingerprint, run.header.fingerprint
    if before and after and before != after:
        raise UsageError(
            f"{pair} are of other collections, queries or judgements: {baseline.header.dataset} ({before[:8]})"
            f" and {run.header.dataset} ({after[:8]})",
            fix="evaluate one of them again, so that both judge the same",
        )


def check_comparable_to(baseline: StoredRun, fingerprint: str) -> None:
    """Raises UsageError for a baseline over another dataset than the one of this fingerprint, where it says so."""
    header = baseline.header
    if header.fingerprint and header.fingerprint != fingerprint:
        raise UsageError(
            f"{label(baseline)}: that run had other queries, judgements or documents ({header.dataset})",
            fix="evaluate the baseline again on this dataset",
        )


def label(run: StoredRun) -> str:
    """What a person calls it: the beginning of its id, or the folder's name, and its mode."""
    mode = run.header.config.get("mode")
    name = run.header.run_id[:8] if run.origin == "database" else run.origin
    return f"{name} ({mode})" if mode else name


def changes(baseline: StoredRun, run: StoredRun, measure: str) -> tuple[QueryChange, ...]:
    """The queries whose figure changed, those that changed most first; ties in the order of the suite."""
    before = _by_id(baseline)
    found = (
        QueryChange(
            r.query_id,
            r.text or before[r.query_id].text,
            before[r.query_id].measures[measure],
            r.measures[measure],
            before[r.query_id].first_relevant,
            r.first_relevant,
        )
        for r in run.results
    )
    return tuple(sorted((c for c in found if abs(c.difference) > ROUNDING), key=lambda c: -abs(c.difference)))


def differences(baseline: StoredRun, run: StoredRun, measure: str) -> dict[str, float]:
    """Query id → figure of the run minus that of the baseline."""
    before = baseline.values
    return {query_id: row[measure] - before[query_id][measure] for query_id, row in run.values.items()}


def setting_changes(before: EvalReport, after: EvalReport) -> tuple[SettingChange, ...]:
    """What of the recorded settings differs, by dotted path. A list counts as one value."""
    left, right = dict(_flat(before.config)), dict(_flat(after.config))
    names = [name for name in dict.fromkeys([*left, *right]) if not name.startswith(IGNORED)]
    return tuple(
        SettingChange(name, left.get(name), right.get(name))
        for name in names
        if left.get(name) != right.get(name)
    )


def _measures(runs: Sequence[StoredRun], wanted: Sequence[str]) -> tuple[str, ...]:
    shared = [name for name in runs[0].header.metrics if all(name in run.header.metrics for run in runs)]
    if not shared:
        raise UsageError("the runs share no measure", fix="run them with the same --k")
    if absent := [name for name in wanted if name not in shared]:
        raise UsageError(f"{absent[0]} is not in every run", fix=f"one of {', '.join(shared)}")
    depths = {run.header.config.get("depth") for run in runs}
    usual = tuple(name for name in FIRST if name in shared and not (name == "map" and len(depths) > 1))
    return tuple(dict.fromkeys(wanted)) or usual or tuple(shared[:5])


def _warnings(baseline: StoredRun, run: StoredRun) -> Iterator[str]:
    """What makes the comparison less than it seems."""
    before, after = baseline.header, run.header
    for one in (baseline, run):
        if one.header.failed:
            yield f"{label(one)}: {one.header.failed} queries failed and count as 0"
    if before.config.get("depth") != after.config.get("depth"):
        depths = f"{before.config.get('depth')} and {after.config.get('depth')}"
        yield f"rankings were cut at {depths} documents: map is not the same measure"
    earlier, later = _corpus(before), _corpus(after)
    if earlier and later and earlier.get("fingerprint") != later.get("fingerprint"):
        yield (
            f"the corpus changed in between: {earlier.get('documents')} documents in {earlier.get('chunks')} chunks, then"
            f" {later.get('documents')} in {later.get('chunks')}"
        )
    if before.authorised_fraction != after.authorised_fraction:
        yield (
            f"the readable share of the relevant documents is not the same: {_share(before.authorised_fraction)},"
            f" then {_share(after.authorised_fraction)}"
        )
    if not (before.fingerprint and after.fingerprint):
        yield "one of them has no report.json: that both judged the same collection is not known"


def _corpus(report: EvalReport) -> Mapping[str, Any]:
    found = report.config.get("corpus")
    return found if isinstance(found, Mapping) else {}


def _share(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{fraction:.1%}"


def _regraded(before: QueryResult, after: QueryResult) -> bool:
    """Whether a document that both runs know the grade of has another one. A run of before `missed` was kept says less."""
    left = {d.docid: d.grade for d in before.ranked} | dict(before.missed)
    right = {d.docid: d.grade for d in after.ranked} | dict(after.missed)
    return any(left[docid] != right[docid] for docid in left.keys() & right.keys())


def _by_id(run: StoredRun) -> dict[str, QueryResult]:
    return {result.query_id: result for result in run.results}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", list(value) if isinstance(value, tuple) else value


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
