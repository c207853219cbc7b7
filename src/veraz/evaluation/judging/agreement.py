"""Do judges agree? Cohen's kappa with quadratic weights (Cohen 1968), and the plain share of equal grades, over what both
judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from veraz.evaluation.suites.judgements import Key, latest
from veraz.nouns.suite import Agreement, Judgement

FAR = 2
"""Grades apart from which on a pair is listed: one of the two judges should look again."""


def agreements(judgements: Iterable[Judgement]) -> tuple[Agreement, ...]:
    """Of every two judges who judged some passage both, by name. A passage is the same query, span and text."""
    grades: defaultdict[str, dict[Key, int]] = defaultdict(dict)
    for (judge, key), judgement in latest(judgements).items():
        if judgement.grade is not None:
            grades[judge][key] = judgement.grade
    pairs = combinations(sorted(grades), 2)
    return tuple(
        _agreement(a, b, grades[a], grades[b]) for a, b in pairs if grades[a].keys() & grades[b].keys()
    )


def weighted_kappa(pairs: Counter[tuple[int, int]]) -> float | None:
    """1 − observed / expected squared distance of the grades; None where the judges leave no room for chance: one grade
    alone."""
    total = pairs.total()
    of_a, of_b = Counter[int](), Counter[int]()
    for (a, b), n in pairs.items():
        of_a[a] += n
        of_b[b] += n
    observed = sum(n * (a - b) ** 2 for (a, b), n in pairs.items()) / total
    expected = sum(n * m * (a - b) ** 2 for a, n in of_a.items() for b, m in of_b.items()) / total**2
    return None if expected == 0 else 1 - observed / expected


def _agreement(a: str, b: str, of_a: Mapping[Key, int], of_b: Mapping[Key, int]) -> Agreement:
    both = sorted(of_a.keys() & of_b.keys())
    pairs = Counter((of_a[key], of_b[key]) for key in both)
    seen = sorted({grade for pair in pairs for grade in pair})
    return Agreement(
        a=a,
        b=b,
        passages=len(both),
        raw=sum(n for (x, y), n in pairs.items() if x == y) / len(both),
        kappa=weighted_kappa(pairs),
        table={x: {y: pairs[x, y] for y in seen} for x in seen},
        apart=tuple(
            (key[0], f"{key[1]}/{key[2]}#{key[3]}-{key[4]}", of_a[key], of_b[key])
            for key in both
            if abs(of_a[key] - of_b[key]) >= FAR
        ),
    )
