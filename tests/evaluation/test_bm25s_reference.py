"""The lexical oracle stands still: its figures on a public collection, and its own rules on a tiny one."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import pytest

from veraz.evaluation.dataset import load_dataset
from veraz.evaluation.measures import Measure, score


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "bench" / "bm25s_reference.py"
    spec = importlib.util.spec_from_file_location("bm25s_reference", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_scores_are_those_of_the_formula(reference: ModuleType) -> None:
    """Lucene: ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / average))."""
    corpus = {"one": "Fever fevers", "two": "cough", "three": "The fever and a cough"}
    analyse = reference.Analyser(reference.stop_words("postgresql"), reference.PATTERNS["words"])
    run = reference.search(corpus, {"q": "the FEVER?", "none": "aspirin"}, analyse, k1=1.2, b=0.75)
    idf, average = math.log(1 + 1.5 / 2.5), 5 / 3
    expected = {
        d: idf * tf / (tf + 1.2 * (0.25 + 0.75 * 2 / average)) for d, tf in (("one", 2), ("three", 1))
    }
    assert {item.docid: item.score for item in run["q"]} == pytest.approx(expected)
    assert [item.docid for item in run["q"]] == ["one", "three"]
    assert run["none"] == ()


def test_figures_on_med(reference: ModuleType, shared: Path) -> None:
    dataset = load_dataset(shared / "data" / "med")
    analyse = reference.Analyser(reference.stop_words("postgresql"), reference.PATTERNS["words"])
    run = reference.search(
        dict(reference.documents(dataset.corpus_path)), dataset.judged, analyse, k1=1.2, b=0.75
    )
    rankings = {query_id: [item.docid for item in ranking] for query_id, ranking in run.items()}
    means = score(rankings, dataset.qrels, [Measure("ndcg", 10), Measure("recall", 20)]).means
    # PyStemmer 2.2 has the Snowball version that PostgreSQL 18 has; version 3 tells "organic" from "organ" and gives 0.6939.
    assert means == pytest.approx({"ndcg@10": 0.6929, "recall@20": 0.5041}, abs=1e-4)
