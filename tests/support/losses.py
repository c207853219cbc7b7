"""Real figures of judged queries without a model, and losses planted into them in several shapes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np

from veraz.evaluation.dataset import Dataset, load_dataset
from veraz.evaluation.lines import objects
from veraz.evaluation.measures import measures_for, score

SHAPES = ("broad", "tenth", "one", "mixed")
"""A little of every query; much of every tenth; all of as few as it takes; up and down at random, in sum down."""
CORPORA = {
    "med": ("med/corpus.jsonl", None),
    "liveqa_medquad": ("medquad/corpus.jsonl.gz", "qrels_open_subset.tsv"),
}
WORD = re.compile(r"\w+")
NOISE = 0.15


@cache
def real_figures(data: Path, name: str) -> np.ndarray:
    """nDCG@10 of each judged query, in the suite's order."""
    dataset, rankings = bm25_rankings(data, name)
    scores = score(rankings, dataset.qrels, [m for m in measures_for([10]) if m.name == "ndcg@10"])
    return np.array([scores.per_query[q]["ndcg@10"] for q in dataset.judged])


@cache
def bm25_rankings(data: Path, name: str) -> tuple[Dataset, dict[str, list[str]]]:
    """A real collection, and the ten best documents of each judged query by bm25s."""
    import bm25s

    corpus, qrels = CORPORA[name]
    dataset = load_dataset(data / name, qrels=data / name / qrels if qrels else None)
    ids, texts = [], []
    for _, record in objects(data / corpus):
        ids.append(str(record.get("_id", record.get("id"))))
        texts.append(WORD.findall(f"{record.get('title', '')} {record['text']}".lower()))
    index = bm25s.BM25()
    index.index(texts, show_progress=False)
    rankings = {}
    for query_id, question in dataset.judged.items():
        found = index.get_scores(
            [w for w in dict.fromkeys(WORD.findall(question.lower())) if w in index.vocab_dict]
        )
        rankings[query_id] = [ids[n] for n in np.argsort(-found, kind="stable")[:10]]
    return dataset, rankings


def planted(figures: np.ndarray, loss: float, shape: str, random: np.random.Generator) -> np.ndarray:
    """`figures` with a mean that is lower by exactly `loss`, each between 0 and 1."""
    after = figures.copy()
    total = loss * len(figures)
    if shape == "broad":
        return after - after * total / after.sum()
    order = random.permutation(np.flatnonzero(after > 0))
    if shape == "one":
        return _taken(after, order, total)
    if shape == "tenth":
        chosen = order[: max(len(figures) // 10, 1)]
        share = min(total, 0.999 * after[chosen].sum())
        after[chosen] -= after[chosen] * share / after[chosen].sum()
        return _taken(after, np.setdiff1d(order, chosen), total - share)
    after = np.clip(after + random.normal(0, NOISE, len(after)), 0, 1)
    moved = figures.sum() - total - after.sum()
    room = after if moved < 0 else 1 - after
    return after + room * moved / room.sum()


def _taken(after: np.ndarray, order: np.ndarray, total: float) -> np.ndarray:
    """Query after query to 0, until `total` is gone."""
    for n in order:
        taken = min(total, after[n])
        after[n] -= taken
        total -= taken
    return after
