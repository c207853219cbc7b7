"""The failures of a whole run: which stages lost how many, and which change would mend most. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from veraz.nouns.diagnosis import Change, Cluster, Missed, Stage, SuiteDiagnosis
from veraz.nouns.evaluation import QueryResult

EXAMPLES = 5


class Judged(Protocol):
    """A judged folder, as far as it is read here."""

    @property
    def name(self) -> str: ...
    @property
    def queries(self) -> Mapping[str, str]: ...
    @property
    def qrels(self) -> Mapping[str, Mapping[str, int]]: ...


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What was expected: by query id the relevant documents with their grades; and what a stored run `found`, None where it is
    to be searched. `judged` counts relevant documents."""

    name: str
    texts: Mapping[str, str]
    wanted: Mapping[str, Mapping[str, int]]
    found: Mapping[str, frozenset[str]] | None
    judged: int
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: Judged, results: Sequence[QueryResult], k: int) -> JudgedRun:
        """`results` are those of a stored run, or none."""
        wanted = {q: {d: g for d, g in grades.items() if g > 0} for q, grades in dataset.qrels.items()}
        first = {r.query_id: frozenset(list(dict.fromkeys(d.docid for d in r.ranked))[:k]) for r in results}
        known = {q: grades for q, grades in wanted.items() if not results or q in first}
        judged = sum(map(len, known.values()))
        return cls(dataset.name, dict(dataset.queries), known, first if results else None, judged)

    @classmethod
    def of_run(cls, results: Sequence[QueryResult], k: int) -> JudgedRun:
        """What a per-query file alone can tell: relevant documents that it lists beyond the first k."""
        wanted = {
            r.query_id: {
                d.docid: d.grade for d in r.ranked if d.grade is not None and d.grade > 0 and d.rank > k
            }
            for r in results
        }
        judged = sum(1 for r in results for d in r.ranked if (d.grade or 0) > 0)
        note = "only what the run lists is known: relevant documents in no list need the judged folder"
        texts = {r.query_id: r.text for r in results}
        return cls("the run", texts, wanted, {}, judged, (note,))


def summarised(
    suite: JudgedRun, failures: Sequence[Missed], *, k: int, mode: str, missed: int
) -> SuiteDiagnosis:
    notes = list(suite.warnings)
    if len(failures) < missed:
        notes.append(f"{len(failures)} of {missed} misses were followed, evenly over all")
    remedy, mended = best_remedy(failures)
    return SuiteDiagnosis(
        dataset=suite.name,
        k=k,
        mode=mode,
        queries=len(suite.wanted),
        judged=suite.judged,
        missed=missed,
        clusters=clusters(failures),
        remedy=remedy,
        mended=mended,
        failures=tuple(failures),
        warnings=tuple(notes),
    )


def spread(missed: Sequence[tuple[str, str, int]], most: int) -> list[tuple[str, str, int]]:
    """At most `most` of them, evenly over the whole: the first queries of a file may be all of one kind."""
    if len(missed) <= most:
        return list(missed)
    return [missed[n * len(missed) // most] for n in range(most)]


def clusters(failures: Sequence[Missed]) -> tuple[Cluster, ...]:
    """By stage and cause, most failures first. `share` is of all failures."""
    grouped: dict[tuple[Stage, str | None], list[Missed]] = defaultdict(list)
    for failure in failures:
        grouped[failure.diagnosis.stage, failure.diagnosis.cause].append(failure)
    made = []
    for (stage, cause), of_stage in grouped.items():
        remedy, mended = best_remedy(of_stage)
        made.append(
            Cluster(
                stage,
                cause,
                len(of_stage),
                len(of_stage) / len(failures),
                tuple((f.query_id, f.diagnosis.expect) for f in of_stage[:EXAMPLES]),
                remedy,
                mended,
            )
        )
    return tuple(sorted(made, key=lambda c: (-c.count, c.stage, c.cause or "")))


def best_remedy(failures: Sequence[Missed]) -> tuple[str | None, int]:
    """The single change that mends most of them, and how many. A change to a number mends all that a smaller one would: `-k 30`
    those that need `-k 12` too, and pays for what it covers; so the number is the one that nine of ten of these need at most."""
    numbers: dict[str, list[int]] = defaultdict(list)
    others: Counter[str] = Counter()
    for failure in failures:
        change = failure.diagnosis.change
        if change is None:
            continue
        number = _number(change)
        if number is not None:
            numbers[number[0]].append(number[1])
        else:
            others[_general(change)] += 1
    counted = dict(others)
    for template, needed in numbers.items():
        needed.sort()
        enough = needed[max(0, -(-9 * len(needed) // 10) - 1)]
        counted[template.format(enough)] = sum(n <= enough for n in needed)
    if not counted:
        return None, 0
    remedy = max(counted, key=lambda text: (counted[text], text))
    return remedy, counted[remedy]


def _number(change: Change) -> tuple[str, int] | None:
    """A change to one number, as a template and that number."""
    if change.kind == "request" and set(change.values) == {"k"} and not change.settings:
        return "-k {}", int(change.values["k"])
    if change.kind == "settings" and len(change.values) == 1:
        ((name, value),) = change.values.items()
        if isinstance(value, int) and not isinstance(value, bool):
            section, _, key = name.partition(".")
            return f"[{section}] {key} = {{}}", value
    if change.kind == "request" and set(change.values) == {"k"} and set(change.settings) == {"search.pool"}:
        return "-k and [search] pool = {}", max(int(change.values["k"]), int(change.settings["search.pool"]))
    return None


_KINDS: Mapping[str, str] = {
    "ingest": "veraz ingest what is missing",
    "reingest": "veraz ingest again, as each says",
    "restore": "veraz restore what was deleted",
    "supersede": "veraz supersede, as each says",
    "access": "veraz access, as each says",
}


def _general(change: Change) -> str:
    """Without the ids that differ from document to document."""
    return _KINDS.get(change.kind, change.command)
