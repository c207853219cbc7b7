"""The whole of an evaluation over a suite: facets, expected outcomes, the private split, what is not bound."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

import ir_measures
import pytest
from ir_measures import AP, RR, P, R, Success, nDCG

from veraz.errors import DatabaseError, UsageError
from veraz.evaluation.dataset import Dataset
from veraz.evaluation.pipeline import evaluate
from veraz.evaluation.report import report_json, write_report
from veraz.evaluation.runfile import read_run
from veraz.evaluation.runs import files
from veraz.evaluation.suites.judgements import document_grades, text_hash
from veraz.evaluation.suites.twins import RevisionKey
from veraz.nouns.corpus import Span
from veraz.nouns.evaluation import EvalReport, RankedItem, RankedQuery
from veraz.nouns.suite import Binding, ChunkPlace, JudgedSpan, QueryRequest, Unbound

NOTHING = RankedQuery((), outcome="nothing")


def found(*docids: str, outcome: str = "found") -> RankedQuery:
    return RankedQuery(
        tuple(RankedItem(d, 1.0 / n, f"c{n}") for n, d in enumerate(docids, 1)), outcome=outcome
    )


def request(query_id: str, *facets: str, outcome: str | None = None, split: str = "all") -> QueryRequest:
    return QueryRequest(query_id, f"text {query_id}", facets=facets, outcome=outcome, split=split)  # type: ignore[arg-type]


REQUESTS = {
    r.query_id: r
    for r in (
        request("q1", "table"),
        request("q2", "table", "negation"),
        request("q3"),
        request("refused", "negation", outcome="insufficient"),
        request("absent", outcome="nothing"),
        request("p1", "table", "secret", split="private"),
        request("p2", split="private", outcome="routed"),
    )
}
DATASET = Dataset(
    name="mini",
    queries={q: r.text for q, r in REQUESTS.items()},
    qrels={"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 2}, "p1": {"e": 1}},
    corpus_path=None,
    fingerprint="f" * 64,
    requests=REQUESTS,
)


class Table:
    def __init__(self, answers: Mapping[str, RankedQuery | Exception]) -> None:
        self.answers = answers
        self.asked: list[QueryRequest] = []

    async def __call__(self, request: QueryRequest) -> RankedQuery:
        self.asked.append(request)
        answer = self.answers.get(request.query_id, NOTHING)
        if isinstance(answer, Exception):
            raise answer
        return answer


ANSWERS: dict[str, RankedQuery | Exception] = {
    "q1": found("a"),
    "q3": DatabaseError("lost"),
    "refused": found("x", outcome="insufficient"),
    "absent": found("y"),
    "p1": found("z", "e"),
    "p2": RankedQuery((), outcome="routed"),
}


async def run(answers: Mapping[str, RankedQuery | Exception] = ANSWERS, **options: object) -> EvalReport:
    return await evaluate(DATASET, Table(answers), ks=(10,), **options)  # type: ignore[arg-type]


async def test_every_query_is_asked_as_its_suite_says() -> None:
    table = Table(ANSWERS)
    await evaluate(DATASET, table, ks=(10,))
    assert table.asked == list(REQUESTS.values())


async def test_case_h51_and_its_siblings() -> None:
    """q2 finds nothing and q3 fails: both stay in the mean, with the ideal ranking of what was judged."""
    report = await run()
    assert report.metrics["recall@10"] == pytest.approx((0.5 + 0 + 0) / 3)
    of_q1 = 1 / (1 + 1 / math.log2(3))
    assert of_q1 == pytest.approx(0.6131, abs=1e-4)
    assert report.metrics["ndcg@10"] == pytest.approx(of_q1 / 3)
    assert [(r.query_id, r.measures["ndcg@10"]) for r in report.results] == [
        ("q1", pytest.approx(of_q1)),
        ("q2", 0),
        ("q3", 0),
    ]
    assert (report.queries, report.empty, report.failed) == (3, 1, 1), "to refuse well is not to be empty"
    assert report.config["unanswered"] == 0.0
    figures = [*report.metrics.values(), *(v for f in report.facets.values() for v in f.metrics.values())]
    assert all(math.isfinite(value) for value in figures)


async def test_a_facet_keeps_its_unanswered_queries() -> None:
    facets = (await run()).facets
    assert {name: (f.queries, f.outcomes) for name, f in facets.items()} == {
        "table": (2, 0),
        "negation": (1, 1),
    }
    assert facets["table"].metrics["recall@10"] == pytest.approx(0.25)
    assert facets["negation"].metrics["recall@10"] == 0
    assert facets["negation"].outcome_agreement == 1
    assert "secret" not in facets


async def test_a_facet_of_nothing_but_refusals_has_no_means_and_no_nan() -> None:
    requests = {"q1": request("q1"), "r": request("r", "safety", outcome="nothing")}
    dataset = Dataset("m", dict.fromkeys(requests, "t"), {"q1": {"a": 1}}, None, "f", requests=requests)
    report = await evaluate(dataset, Table({"q1": found("a")}), ks=(5,))
    assert (report.facets["safety"].queries, report.facets["safety"].metrics) == (0, {})
    only = Dataset("m", {"r": "t"}, {}, None, "f", requests={"r": requests["r"]})
    alone = await evaluate(only, Table({}), ks=(5,), gates=["outcome_agreement==1", "ndcg@5>0"])
    assert (alone.metrics, alone.outcome_agreement, alone.queries) == ({}, 1.0, 0)
    assert [gate.passed for gate in alone.gates] == [True, False]


async def test_the_private_split_is_a_figure_of_its_own_that_nothing_else_has_seen() -> None:
    good, bad = await run(gates=["ndcg@10>0"]), await run({**ANSWERS, "p1": NOTHING, "p2": NOTHING})
    assert good.private is not None
    assert bad.private is not None
    assert (good.private.queries, good.private.outcomes) == (1, 1)
    assert (good.private.metrics["mrr@10"], bad.private.metrics["mrr@10"]) == (0.5, 0)
    assert (good.private.outcome_agreement, bad.private.outcome_agreement) == (1, 0)
    assert good.metrics == bad.metrics
    assert good.facets == bad.facets
    assert good.outcomes == bad.outcomes
    told = str(report_json(good)) + str(good.results)
    assert "p1" not in told
    assert "p2" not in told


async def test_private_queries_that_fail_change_no_count() -> None:
    broken = {**ANSWERS, "p1": DatabaseError("lost"), "p2": DatabaseError("lost")}
    report = await run(broken)
    assert (report.failed, report.empty) == (1, 1)
    assert report.private is not None
    assert report.private.metrics["mrr@10"] == 0


async def test_a_suite_that_is_all_private_cannot_be_chosen_by() -> None:
    with pytest.raises(UsageError, match="every judged query of mini is in the private split"):
        await evaluate(DATASET.private or DATASET, Table(ANSWERS))


async def test_a_baseline_is_compared_on_what_may_be_chosen_by(tmp_path: Path) -> None:
    before = await run()
    write_report(before, out=tmp_path / "run")
    baseline = files.read_run(tmp_path / "run").values
    assert set(baseline) == {"q1", "q2", "q3"}
    after = await run({**ANSWERS, "q2": found("c"), "p1": NOTHING}, baseline=baseline)
    change = next(c for c in after.comparisons if c.measure == "recall@10")
    assert (change.queries, change.mean_difference) == (3, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("expected", "observed", "agrees"),
    [
        ("answered", "found", True),
        ("answered", "insufficient", False),
        ("conflicting", "found", True),
        ("insufficient", "insufficient", True),
        ("insufficient", "nothing", True),
        ("insufficient", "found", False),
        ("nothing", "nothing", True),
        ("nothing", "insufficient", False),
        ("routed", "routed", True),
        ("routed", "nothing", False),
    ],
)
async def test_outcomes_agree_as_far_as_a_search_can_say(expected: str, observed: str, agrees: bool) -> None:
    requests = {"q": request("q", outcome=expected)}
    dataset = Dataset("m", {"q": "t"}, {"q": {"a": 1}}, None, "f", requests=requests)
    report = await evaluate(dataset, Table({"q": RankedQuery((), outcome=observed)}), ks=(5,))
    [result] = report.outcomes
    assert (result.expected, result.observed, result.agrees) == (expected, observed, agrees)
    assert report.outcome_agreement == float(agrees)


async def test_a_query_that_failed_agrees_with_nothing() -> None:
    report = await run({**ANSWERS, "absent": DatabaseError("lost")})
    assert [(o.query_id, o.observed, o.agrees) for o in report.outcomes] == [
        ("refused", "insufficient", True),
        ("absent", "failed", False),
    ]
    assert report.outcome_agreement == 0.5


async def test_readers_of_different_rights_have_a_ceiling_each() -> None:
    report = await run(readable={"q1": {"a"}, "q2": {"c"}, "p1": set()})
    assert report.authorised_fraction == pytest.approx(2 / 4), "a and c of a, b, c, d"


# Spans

TEXT = "".join(f"[{n:03}] " for n in range(200))


def span(start: int, end: int, grade: int, document: str = "d") -> JudgedSpan:
    return JudgedSpan("s", document, start, end, text_hash(TEXT[start:end]), grade)


def chunk(start: int, end: int, document: str = "d") -> RankedItem:
    place = ChunkPlace("s", document, 1, (Span(start, end),))
    return RankedItem(document, 1.0, f"{document}{start}", place)


SPANS = {"q1": (span(0, 30, 3), span(300, 330, 1)), "q2": (span(600, 660, 2), span(0, 30, 2, "gone"))}


async def texts(request: QueryRequest, keys: Collection[RevisionKey]) -> Mapping[RevisionKey, str]:  # noqa: ARG001
    return {key: TEXT for key in keys if key[1] == "d"}


async def of_spans(**options: object) -> EvalReport:
    queries = {"q1": "one", "q2": "two"}
    dataset = Dataset("m", queries, document_grades(SPANS), None, "f", spans=SPANS)
    answers = {
        "q1": RankedQuery((chunk(60, 90), chunk(300, 330), chunk(0, 36), chunk(306, 330))),
        "q2": RankedQuery((chunk(630, 690), chunk(90, 120))),
    }
    return await evaluate(dataset, Table(answers), ks=(1, 5), texts=texts, **options)  # type: ignore[arg-type]


async def test_spans_are_the_units_of_the_run_and_every_tool_scores_it_the_same(tmp_path: Path) -> None:
    report = await of_spans()
    one, two = report.results
    assert [(r.docid, r.grade) for r in one.ranked] == [
        ("s/d@60-90", None),
        (SPANS["q1"][1].unit, 1),
        (SPANS["q1"][0].unit, 3),
        ("s/d@306-330", None),
    ]
    assert one.ranked[1].place == ChunkPlace("s", "d", 1, (Span(300, 330),))
    assert two.measures["recall@5"] == 0.5, "what is not ingested any more stays to be found"
    write_report(report, trec_run=tmp_path / "x.run")
    run = {q: {i.docid: i.score for i in items} for q, items in read_run(tmp_path / "x.run").items()}
    qrels = {q: {s.unit: s.grade for s in spans} for q, spans in SPANS.items()}
    names = {
        "ndcg@5": nDCG @ 5,
        "recall@5": R @ 5,
        "mrr@5": RR @ 5,
        "p@5": P @ 5,
        "success@1": Success @ 1,
        "map": AP,
    }
    theirs = ir_measures.calc_aggregate(names.values(), qrels, run)
    assert {n: report.metrics[n] for n in names} == pytest.approx({n: theirs[m] for n, m in names.items()})


async def test_what_is_not_bound_is_said_and_can_be_gated() -> None:
    bound = Binding(4, 3, 0, (Unbound("q2", "s", "gone", 0, 30, 2, "document"),))
    report = await of_spans(bound=bound, gates=["bound>=0.99", "bound>0.7"])
    assert [gate.passed for gate in report.gates] == [False, True]
    assert report.warnings == (
        "1 of 4 judgements cannot be earned and count all the same: 1 of documents that are not there, not readable "
        "or not current; veraz eval check names them",
    )
    assert report_json(report)["bound"]["bound"] == 3


async def test_spans_cannot_be_scored_without_texts() -> None:
    dataset = Dataset("m", {"q1": "one"}, {"q1": {"d": 3}}, None, "f", spans={"q1": SPANS["q1"]})
    with pytest.raises(ValueError, match="without the texts"):
        await evaluate(dataset, Table({}))
