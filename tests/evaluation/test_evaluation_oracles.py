"""A whole evaluation, from what a search returns to the file that it leaves, against two evaluators that know nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from veraz.evaluation.dataset import Dataset
from veraz.evaluation.pipeline import evaluate
from veraz.evaluation.report import write_report
from veraz.evaluation.runs.figures import recall_at
from veraz.nouns.evaluation import EvalReport, RankedItem, RankedQuery
from veraz.nouns.suite import QueryRequest

QUERIES = [f"q{n}" for n in range(6)]
DOCUMENTS = [f"d{n}" for n in range(15)]
KS = (1, 3, 10)
IR_MEASURES = {
    **{f"ndcg@{k}": ir_measures.nDCG @ k for k in KS},
    **{f"recall@{k}": ir_measures.R @ k for k in KS},
    **{f"mrr@{k}": ir_measures.RR @ k for k in KS},
    **{f"p@{k}": ir_measures.P @ k for k in KS},
    **{f"success@{k}": ir_measures.Success @ k for k in KS},
    "map": ir_measures.AP,
}
TREC_EVAL = {
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in KS},
    **{f"recall@{k}": f"recall_{k}" for k in KS},
    **{f"p@{k}": f"P_{k}" for k in KS},
    **{f"success@{k}": f"success_{k}" for k in KS},
    "mrr@10": "recip_rank",  # rankings are cut at 10
    "map": "map",
}

# few different scores, so that most rankings hold ties; several chunks of a document
ranked_chunks = st.lists(
    st.tuples(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, -0.0, 0.5, 0.5, 1.0, 1e-9, -3.0, 1e20])), max_size=20
)  # fmt: skip
answers = st.dictionaries(st.sampled_from(QUERIES), ranked_chunks)
qrels = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1),
    min_size=1,
)


def evaluated(
    found: Mapping[str, Sequence[tuple[str, float]]], judged: Mapping[str, Mapping[str, int]]
) -> EvalReport:
    """Of all six queries: those without judgements are extra, those without an answer missing."""
    dataset = Dataset("made", {q: q for q in QUERIES}, judged, None, "f" * 64)

    async def search(text: str) -> RankedQuery:
        return RankedQuery(tuple(RankedItem(*row) for row in found.get(text, ())))

    return asyncio.run(evaluate(dataset, search, ks=KS))


@settings(deadline=None)
@given(answers, qrels)
def test_ir_measures_comes_to_the_same_from_the_run_file(
    tmp_path_factory: pytest.TempPathFactory,
    found: dict[str, list[tuple[str, float]]],
    judged: dict[str, dict[str, int]],
) -> None:
    path = tmp_path_factory.mktemp("run") / "made.run"
    report = evaluated(found, judged)
    write_report(report, trec_run=path)
    run = list(ir_measures.read_trec_run(str(path)))
    theirs = ir_measures.calc_aggregate(list(IR_MEASURES.values()), judged, run)
    assert report.metrics == pytest.approx({name: theirs[measure] for name, measure in IR_MEASURES.items()})
    assert recall_at(report.results, KS) == pytest.approx({k: report.metrics[f"recall@{k}"] for k in KS})


@settings(deadline=None)
@given(answers, qrels)
def test_trec_eval_comes_to_the_same_for_every_query_of_the_run_file(
    tmp_path_factory: pytest.TempPathFactory,
    found: dict[str, list[tuple[str, float]]],
    judged: dict[str, dict[str, int]],
) -> None:
    path = tmp_path_factory.mktemp("run") / "made.run"
    report = evaluated(found, judged)
    write_report(report, trec_run=path)
    with path.open() as stream:
        run = pytrec_eval.parse_run(stream)
    cuts = ",".join(map(str, KS))
    asked = {f"{name}.{cuts}" for name in ("ndcg_cut", "recall", "P", "success")} | {"recip_rank", "map"}
    theirs = pytrec_eval.RelevanceEvaluator(judged, asked).evaluate(run)
    ours = {r.query_id: r.measures for r in report.results}
    assert set(theirs) <= set(ours), "an extra query is in neither"
    for query_id, measures in ours.items():
        row = theirs.get(query_id)
        expected = {name: row[their_name] if row else 0.0 for name, their_name in TREC_EVAL.items()}
        assert {name: measures[name] for name in TREC_EVAL} == pytest.approx(expected)


def test_a_real_collection_is_scored_the_same(shared: Path, tmp_path: Path) -> None:
    """med under BM25: 30 queries, 1,033 documents, graded judgements, through the file."""
    from tests.support.losses import bm25_rankings

    dataset, rankings = bm25_rankings(shared / "data", "med")
    found = {
        text: [(d, 1.0) for d in rankings[q]] for q, text in dataset.judged.items()
    }  # all tied: the rank decides

    async def search(request: QueryRequest) -> RankedQuery:
        return RankedQuery(tuple(RankedItem(*row) for row in found[request.text]))

    report = write_report(asyncio.run(evaluate(dataset, search, ks=KS)), trec_run=tmp_path / "med.run")
    run = list(ir_measures.read_trec_run(str(tmp_path / "med.run")))
    theirs = ir_measures.calc_aggregate(
        list(IR_MEASURES.values()), {q: dict(g) for q, g in dataset.qrels.items()}, run
    )
    assert report.metrics == pytest.approx({name: theirs[measure] for name, measure in IR_MEASURES.items()})
    assert 0.4 < report.metrics["ndcg@10"] < 0.9
