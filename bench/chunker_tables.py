"""The tables of the chunker study, from what a run of bench/chunkers.py kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veraz.evaluation.statistics import bootstrap_interval

BUDGET = 1500
BEGIN, END = "<!-- tables: bench/chunkers.py --markdown -->", "<!-- end of tables -->"
MODES = ("hybrid", "lexical", "semantic")
Configuration = tuple[str, bool]  # chunker as stated, with header
REFERENCE: Configuration = ("structure", True)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question in one configuration and mode. `rank` counts from 1, None where nothing shown answers; `tokens`: how many of
    shown text a reader has read when the fact is complete."""

    suite: str
    chunker: str
    header: bool
    mode: str
    id: str
    half: str
    kind: str
    rank: int | None
    tokens: float | None

    @property
    def configuration(self) -> Configuration:
        return self.chunker, self.header


@dataclass(frozen=True, slots=True)
class Indexed:
    """What it cost to index the documents of a suite. `stored`: tokens of all chunks, headers included; `embedded`: those that
    went through the model, whatever for. `setting` tells the questions and documents of one study from another's."""

    suite: str
    chunker: str
    header: bool
    documents: int
    chunks: int
    stored: int
    embedded: int
    seconds: float
    precision: str
    setting: str


@dataclass(frozen=True, slots=True)
class Study:
    asked: tuple[Asked, ...]
    indexed: tuple[Indexed, ...]

    @property
    def suites(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.suite for row in self.indexed))

    def configurations(self, suites: Sequence[str]) -> tuple[Configuration, ...]:
        """Those that have been run on all of these suites: a mean over some of the questions compares with nothing."""
        made = {(row.suite, row.chunker, row.header) for row in self.indexed}
        found = dict.fromkeys((row.chunker, row.header) for row in self.indexed)
        return tuple(c for c in found if all((suite, *c) in made for suite in suites))

    def of(
        self, configuration: Configuration, mode: str, suites: Sequence[str], **fields: str
    ) -> dict[str, Asked]:
        """By id of the question."""
        return {
            row.id: row
            for row in self.asked
            if row.configuration == configuration
            and row.mode == mode
            and row.suite in suites
            and all(getattr(row, name) == value for name, value in fields.items())
        }


def read(path: Path) -> Study:
    """Lines with the key `rank` are questions, the others what was indexed; of equal ones the last counts."""
    asked: dict[tuple[Any, ...], Asked] = {}
    indexed: dict[tuple[Any, ...], Indexed] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = row["suite"], row["chunker"], row["header"]
        if "rank" in row:
            asked[*key, row["mode"], row["id"]] = Asked(**row)
        else:
            indexed[key] = Indexed(**row)
    return Study(tuple(asked.values()), tuple(indexed.values()))


# What a question is worth

Measure = Callable[[Asked], float]


def at(rank: int) -> Measure:
    return lambda row: float(row.rank is not None and row.rank <= rank)


def within(row: Asked) -> float:
    return float(row.tokens is not None and row.tokens <= BUDGET)


def reciprocal(row: Asked) -> float:
    return 1 / row.rank if row.rank else 0.0


def mean(rows: Iterable[Asked], measure: Measure) -> float:
    values = [measure(row) for row in rows]
    return sum(values) / len(values) if values else float("nan")


def difference(ours: Mapping[str, Asked], theirs: Mapping[str, Asked], measure: Measure) -> str:
    """Mean of the paired differences with its 95 % bootstrap interval over the questions that both were asked."""
    paired = [measure(ours[key]) - measure(theirs[key]) for key in sorted(ours.keys() & theirs.keys())]
    if not paired:
        return "–"
    low, high = bootstrap_interval(paired)
    return f"{sum(paired) / len(paired):+.3f} ({low:+.3f} to {high:+.3f})"


# Tables


def tables(study: Study) -> str:
    parts = [f"Model: {', '.join(sorted({row.precision for row in study.indexed}))}."]
    if len(study.suites) > 1:
        parts += ["### All questions, hybrid", hybrid(study, study.suites)]
    for suite in study.suites:
        count = len({row.id for row in study.asked if row.suite == suite})
        documents = max(row.documents for row in study.indexed if row.suite == suite)
        parts += [
            f"### {suite}: {count} questions, {documents} documents, hybrid",
            hybrid(study, (suite,)),
            f"### {suite}: arms alone",
            arms(study, suite),
            f"### {suite}: where the answer stands (share within {BUDGET:,} tokens, hybrid)",
            kinds(study, suite),
            f"### {suite}: what indexing costs",
            costs(study, suite),
        ]
    return "\n\n".join(parts)


def hybrid(study: Study, suites: Sequence[str]) -> str:
    head = (
        "fact@1",
        "fact@5",
        f"in {BUDGET:,} tokens",
        "MRR",
        "in tokens, tune",
        "held out",
        "in tokens, against structure with header",
        "MRR, against the same",
    )
    reference = study.of(REFERENCE, "hybrid", suites)
    rows = []
    for configuration in study.configurations(suites):
        own = study.of(configuration, "hybrid", suites)
        plain = [mean(own.values(), measure) for measure in (at(1), at(5), within, reciprocal)]
        halves = [
            mean(study.of(configuration, "hybrid", suites, half=half).values(), within)
            for half in ("tune", "held-out")
        ]
        other = [difference(own, reference, measure) for measure in (within, reciprocal)]
        against = ["", ""] if configuration == REFERENCE else other
        rows.append([*_named(configuration), *map(_figure, plain + halves), *against])
    return _table(("chunker", "header", *head), rows)


def arms(study: Study, suite: str) -> str:
    measures = {"fact@1": at(1), "fact@5": at(5), f"in {BUDGET:,} tokens": within, "MRR": reciprocal}
    head = [f"{mode} {name}" for mode in MODES[1:] for name in measures]
    rows = [
        [
            *_named(configuration),
            *(
                _figure(mean(study.of(configuration, mode, (suite,)).values(), measure))
                for mode in MODES[1:]
                for measure in measures.values()
            ),
        ]
        for configuration in study.configurations((suite,))
    ]
    return _table(("chunker", "header", *head), rows)


def kinds(study: Study, suite: str) -> str:
    found = {row.id: row.kind for row in study.asked if row.suite == suite}
    names = sorted(set(found.values()))
    head = [f"{name} ({list(found.values()).count(name)})" for name in names]
    rows = [
        [
            *_named(configuration),
            *(
                _figure(mean(study.of(configuration, "hybrid", (suite,), kind=name).values(), within))
                for name in names
            ),
        ]
        for configuration in study.configurations((suite,))
    ]
    return _table(("chunker", "header", *head), rows)


def costs(study: Study, suite: str) -> str:
    rows = [
        [
            *_named((row.chunker, row.header)),
            f"{row.chunks:,}",
            f"{row.stored / max(row.chunks, 1):.0f}",
            f"{row.embedded:,}",
            f"{row.seconds:.0f}",
        ]
        for row in study.indexed
        if row.suite == suite
    ]
    return _table(
        ("chunker", "header", "chunks", "tokens a chunk", "tokens embedded", "seconds to index"), rows
    )


def _named(configuration: Configuration) -> tuple[str, str]:
    return f"`{configuration[0]}`", "on" if configuration[1] else "off"


def _figure(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(path: Path, study: Study) -> None:
    """Puts the tables between the marks of the page."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} has no lines {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n\n{tables(study)}\n\n{END}{after}", encoding="utf-8")
