"""Measures as values, computed by ir_measures (extra `veraz[eval]`).

nDCG is Järvelin and Kekäläinen 2002 with linear gain and log2(rank + 1), as in trec_eval; its ideal ranking
is built from the judgements, never from what was retrieved. R, RR, AP, P and Success are trec_eval's,
relevant from grade 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from veraz.errors import ConfigError, UsageError

DEFAULT_KS = (5, 10, 20, 100)
CUT = {"ndcg": "nDCG", "recall": "R", "mrr": "RR", "p": "P", "success": "Success"}
"""Measures that need a cut-off, with their names in ir_measures."""

UNANSWERED = 0.0
"""What a judged query counts, in every measure, that found nothing, failed, or is missing from a run. It never leaves the
mean."""

MAX_K = 10_000
MAX_GRADE = 1_000_000  # trec_eval keeps a counter for every grade up to the best


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """`kind` is a key of CUT with a cut-off `k`, or `map` over the whole ranking with `k` None."""

    kind: str
    k: int | None = None

    @property
    def name(self) -> str:
        return self.kind if self.k is None else f"{self.kind}@{self.k}"


@dataclass(frozen=True, slots=True)
class Scores:
    """`per_query`: query id → measure name → value. `means`: over every judged query, the unanswered ones as
    0.
    """

    per_query: Mapping[str, Mapping[str, float]]
    means: Mapping[str, float]


def parse_ks(text: str) -> tuple[int, ...]:
    """`"5,10,20"` as ascending distinct cut-offs. Raises UsageError for anything but whole numbers in
    1..MAX_K.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,5}", part) and 1 <= int(part) <= MAX_K for part in parts):
        raise UsageError(
            f"--k {text!r} is no list of cut-offs", fix=f"whole numbers from 1 to {MAX_K}: --k 5,10,20,100"
        )
    return tuple(sorted({int(part) for part in parts}))


def measures_for(ks: Iterable[int]) -> tuple[Measure, ...]:
    """Every measure at every cut-off, and `map`."""
    cutoffs = sorted(set(ks))
    return (*(Measure(kind, k) for kind in CUT for k in cutoffs), Measure("map"))


def score(
    rankings: Mapping[str, Sequence[str]], qrels: Mapping[str, Mapping[str, int]], measures: Sequence[Measure]
) -> Scores:
    """Scores rankings of document ids, best first, of the queries that `qrels` judges.

    A judged query without a ranking scores UNANSWERED in every measure and stays in the means; a ranked query without
    judgements is left out. Grades below 1 gain nothing. Raises ConfigError without ir_measures, ValueError
    for a document that is ranked twice or when there is nothing judged, UsageError for an absurd grade.
    """
    if not qrels:
        raise ValueError("no judged query")
    names = {_translate(measure): measure.name for measure in measures}
    per_query = {query_id: dict.fromkeys(names.values(), UNANSWERED) for query_id in qrels}
    grades = {query_id: _gains(query_id, judged) for query_id, judged in qrels.items()}
    run = {q: _surrogate(q, ranking) for q, ranking in rankings.items() if ranking and q in qrels}
    for metric in _ir_measures().iter_calc(names, grades, run):
        per_query[metric.query_id][names[metric.measure]] = float(metric.value)
    return Scores(per_query, means_of(per_query.values()))


def means_of(rows: Collection[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over the queries whose values these are; nothing of none, and never NaN."""
    names = next(iter(rows), {})
    return {name: math.fsum(row[name] for row in rows) / len(rows) for name in names}


def check_available() -> None:
    """Raises ConfigError without ir_measures: to be known before an hour of searching."""
    _ir_measures()


def _surrogate(query_id: str, ranking: Sequence[str]) -> dict[str, float]:
    """Whole-number scores that fall with the rank: evaluators re-sort by score and would break our ties their
    way.
    """
    scores = {docid: float(len(ranking) - place) for place, docid in enumerate(ranking)}
    if len(scores) != len(ranking):
        raise ValueError(f"query {query_id!r}: a document is ranked twice")
    return scores


def _gains(query_id: str, judged: Mapping[str, int]) -> dict[str, int]:
    """Grades as gains: below 0 becomes 0, since trec_eval's treatment of negative grades is not defined for
    all measures.
    """
    if max(judged.values(), default=0) > MAX_GRADE:
        raise UsageError(
            f"query {query_id!r} has a grade above {MAX_GRADE}", fix="grade on a small scale, such as 0 to 3"
        )
    return {docid: max(grade, 0) for docid, grade in judged.items()}


def _translate(measure: Measure) -> Any:
    ir_measures = _ir_measures()
    return ir_measures.AP if measure.k is None else getattr(ir_measures, CUT[measure.kind]) @ measure.k


def _ir_measures() -> ModuleType:
    try:
        import ir_measures
    except ImportError as error:
        raise ConfigError(
            "evaluation needs the package ir_measures", fix="pip install 'veraz[eval]'"
        ) from error
    return ir_measures
