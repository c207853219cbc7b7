"""What each arm, their fusion and reranking find, on every suite: the tables of docs/reference/retrieval-study.md.

    veraz eval run SUITE --mode all --k 3,5,10 --out RUNS/SUITE/fused
    veraz eval run SUITE --rerank maxsim --k 3,5,10 --out RUNS/SUITE/reranked
    python bench/retrieval_study.py RUNS

RUNS holds a folder a suite; in it any folders of runs, told apart by what their report says: the mode, and the reranker.
Nothing is asked anew, so the tables can be made again from the runs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from veraz.evaluation.perquery import FILE_NAME
from veraz.evaluation.runs.files import read_run
from veraz.evaluation.statistics import compare
from veraz.nouns.evaluation import Comparison, StoredRun

MEASURES = ("recall@3", "recall@5", "recall@10", "ndcg@10")
ORDER = ("lexical", "semantic", "hybrid", "hybrid + rerank")
FEWEST = 8
"""Questions of a facet below which a difference says nothing."""

Suite = Mapping[str, StoredRun]
"""One of ORDER → its run."""


def read(folder: Path) -> dict[str, Suite]:
    """Suite → its runs. A run is wherever a per-query file is."""
    suites: defaultdict[str, dict[str, StoredRun]] = defaultdict(dict)
    for path in sorted(folder.glob(f"*/**/{FILE_NAME}")):
        run = read_run(path.parent)
        suites[path.relative_to(folder).parts[0]][_name(run)] = run
    return dict(suites)


def _name(run: StoredRun) -> str:
    config = run.header.config
    return f"{config['mode']} + rerank" if config.get("reranker") else str(config["mode"])


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def found(suites: Mapping[str, Suite]) -> Iterator[Sequence[str]]:
    for name, runs in suites.items():
        for kind in (kind for kind in ORDER if kind in runs):
            run = runs[kind]
            means = run.header.metrics
            yield (
                name,
                str(len(run.results)),
                kind,
                *(f"{means[measure]:.3f}" for measure in MEASURES),
                f"{run.header.latency_ms['p50']:.0f}",
            )


def differences(suites: Mapping[str, Suite], better: str, base: str) -> Iterator[Sequence[str]]:
    """`better` against `base`, paired by question. Base "the better arm" is that of the higher mean in each measure."""
    for name, runs in suites.items():
        if better in runs:
            yield name, *(_told(_against(runs, better, base, measure)) for measure in MEASURES)
    everything = _pooled(suites, better, base)
    if everything:
        yield "all questions", *(_told(everything[measure]) for measure in MEASURES)


def _against(runs: Suite, better: str, base: str, measure: str) -> Comparison:
    return compare(runs[better].values, runs[_base(runs, base, measure)].values, measure)


def _base(runs: Suite, base: str, measure: str) -> str:
    if base in runs:
        return base
    return max(("lexical", "semantic"), key=lambda kind: runs[kind].header.metrics[measure])


def _pooled(suites: Mapping[str, Suite], better: str, base: str) -> dict[str, Comparison]:
    told: dict[str, Comparison] = {}
    for measure in MEASURES:
        left: dict[str, Mapping[str, float]] = {}
        right: dict[str, Mapping[str, float]] = {}
        for name, runs in suites.items():
            if better in runs:
                left |= {f"{name}/{key}": v for key, v in runs[better].values.items()}
                right |= {f"{name}/{key}": v for key, v in runs[_base(runs, base, measure)].values.items()}
        if left:
            told[measure] = compare(left, right, measure)
    return told


def facets(suites: Mapping[str, Suite], better: str, base: str) -> Iterator[Sequence[str]]:
    """Over all suites: the questions of each facet."""
    left: defaultdict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    right: defaultdict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for name, runs in suites.items():
        if better not in runs or base not in runs:
            continue
        before = runs[base].values
        for result in runs[better].results:
            for facet in result.facets:
                left[facet][f"{name}/{result.query_id}"] = result.measures
                right[facet][f"{name}/{result.query_id}"] = before[result.query_id]
    for facet in sorted(left):
        if len(left[facet]) >= FEWEST:
            yield (
                facet,
                str(len(left[facet])),
                *(_told(compare(left[facet], right[facet], measure)) for measure in MEASURES),
            )


def _told(c: Comparison) -> str:
    return f"{c.mean_difference:+.3f} ({c.low:+.3f} to {c.high:+.3f}; {c.wins} up, {c.losses} down)"


def page(suites: Mapping[str, Suite]) -> Iterator[str]:
    yield "### What is found\n"
    yield from table(("suite", "questions", "mode", *MEASURES, "p50 ms"), found(suites))
    yield "### Hybrid against the better of its arms\n"
    yield from table(("suite", *MEASURES), differences(suites, "hybrid", "the better arm"))
    if any("hybrid + rerank" in runs for runs in suites.values()):
        yield "### Reranked against hybrid\n"
        yield from table(("suite", *MEASURES), differences(suites, "hybrid + rerank", "hybrid"))
        yield "### Reranked against hybrid, by facet\n"
        yield from table(("facet", "questions", *MEASURES), facets(suites, "hybrid + rerank", "hybrid"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path)
    suites = read(parser.parse_args().runs)
    if not suites:
        parser.error("no run is there")
    print("\n".join(page(suites)))


if __name__ == "__main__":
    main()
