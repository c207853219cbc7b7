"""TREC run files: `qid Q0 docid rank score tag`, the exchange format of retrieval evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, text_lines, write_lines
from veraz.nouns.evaluation import RankedItem

RUN_FIX = "six columns a line: query id, Q0, document id, rank, score, tag"
LEAST_STEP = 1e-12  # keeps the scores below a tie at zero away from float32's denormals


def write_run(path: Path, rankings: Mapping[str, Iterable[RankedItem]], tag: str) -> None:
    """Writes rankings, best first, so that every evaluator re-scores them to the same figures.

    Evaluators ignore the rank column and re-sort by score, which trec_eval holds in single precision: tied
    scores are moved apart by the least step that survives it. Raises UsageError for an id with white space,
    which the format cannot carry, and ValueError for a score that is not finite in single precision.
    """
    write_lines(path, _lines(rankings, _word(tag)))


def read_run(path: Path) -> dict[str, tuple[RankedItem, ...]]:
    """Reads a run by falling score, ties by the rank column. Raises UsageError naming file and line."""
    rows: dict[str, dict[str, tuple[float, int]]] = {}
    for number, line in text_lines(path):
        query_id, docid, rank, score = _row(path, number, line.split())
        documents = rows.setdefault(query_id, {})
        if docid in documents:
            fault(path, number, f"query {query_id!r} ranks document {docid!r} twice", "keep its best place")
        documents[docid] = (score, rank)
    return {query_id: _ordered(documents) for query_id, documents in rows.items()}


def strictly_falling(scores: Iterable[float]) -> list[float]:
    """The scores as single-precision values, each below the one before it; a score that already is stays as
    it is.
    """
    result: list[float] = []
    for score in scores:
        with np.errstate(over="ignore"):
            value = np.float32(score)
        if not np.isfinite(value):
            raise ValueError(f"score {score} is not finite in single precision")
        result.append(
            float(value if not result or value < result[-1] else _just_below(np.float32(result[-1])))
        )
    return result


def _just_below(value: np.float32) -> np.float32:
    return min(np.nextafter(value, np.float32(-np.inf)), value - np.float32(LEAST_STEP))


def _lines(rankings: Mapping[str, Iterable[RankedItem]], tag: str) -> Iterator[str]:
    for query_id, ranking in rankings.items():
        items = tuple(ranking)
        scores = strictly_falling(item.score for item in items)
        for rank, (item, score) in enumerate(zip(items, scores, strict=True), start=1):
            # nine significant digits tell any two single-precision numbers apart
            yield f"{_word(query_id)} Q0 {_word(item.docid)} {rank} {score:.9g} {tag}"


def _word(text: str) -> str:
    if not text or text.split() != [text]:
        raise UsageError(
            f"{text!r} cannot stand in a TREC run file: ids there hold no white space",
            fix="leave out --trec-run; the per-query file of --out carries any id",
        )
    return text


def _row(path: Path, number: int, fields: Sequence[str]) -> tuple[str, str, int, float]:
    if len(fields) != 6:
        fault(path, number, f"{len(fields)} columns where 6 are expected", RUN_FIX)
    query_id, _, docid, rank, score, _ = fields
    try:
        return query_id, docid, int(rank), _finite(score)
    except ValueError:
        _bad_number(path, number, rank, score)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _bad_number(path: Path, number: int, rank: str, score: str) -> NoReturn:
    fault(path, number, f"rank {rank!r} or score {score!r} is not a number", RUN_FIX)


def _ordered(documents: Mapping[str, tuple[float, int]]) -> tuple[RankedItem, ...]:
    ranked = sorted(documents.items(), key=lambda row: (-row[1][0], row[1][1], row[0]))
    return tuple(RankedItem(docid, score) for docid, (score, _) in ranked)
