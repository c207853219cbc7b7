"""Suites on a real database: judgements survive another cutting, every field of a query is obeyed, and who may ask as whom."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder

from veraz.config import AnswerConfig
from veraz.demo import CORPUS
from veraz.engine import AsyncVeraz
from veraz.errors import AccessDenied, UsageError
from veraz.evaluation.dataset import load_dataset
from veraz.evaluation.perquery import read_results
from veraz.evaluation.suites.importing import GradedTrace, SpanRow, SuiteDraft
from veraz.evaluation.suites.judgements import read_judgements, text_hash
from veraz.nouns.evaluation import EvalReport
from veraz.nouns.suite import Manifest, QueryRequest

MANIFEST = Manifest("leaflets", "1", sources=("s",))


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def suite(
    folder: Path,
    queries: Iterable[Mapping[str, Any]],
    judgements: Iterable[Mapping[str, Any]] = (),
    sources: str = '"s"',
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "suite.toml").write_text(
        f'name = "leaflets"\nversion = "1"\nsources = [{sources}]\nsplits = ["open", "private"]\n'
    )
    lines(folder / "queries.jsonl", queries)
    if judgements:
        lines(folder / "judgements.jsonl", judgements)
    return folder


def judged(query_id: str, document: str, text: str, part: str, grade: int = 2, **more: Any) -> dict[str, Any]:
    start = text.index(part)
    return {
        "query_id": query_id, "external_id": document, "start": start, "end": start + len(part),
        "sha256": text_hash(part), "grade": grade, **more,
    }  # fmt: skip


async def run(engine: AsyncVeraz, folder: Path, **options: Any) -> EvalReport:
    [report] = await engine.evaluate(folder, modes=("lexical",), ks=(1, 5), **options)
    return report


# Another cutting


def leaflets(shared: Path, documents: int) -> list[dict[str, Any]]:
    """Real product information, its sections put together to documents of many chunks."""
    parts: dict[str, list[str]] = {}
    with gzip.open(shared / "data/aemps_epi_es/corpus.jsonl.gz", "rt") as stream:
        for line in stream:
            row = json.loads(line)
            parts.setdefault(row["doc"], []).append(f"## {row['title']}\n\n{row['text']}")
    chosen = sorted(parts, key=lambda d: (len("".join(parts[d])), d))[:documents]
    return [record(d, "\n\n".join(parts[d]), lang="es", format="markdown") for d in chosen]


def answers(shared: Path, documents: int) -> list[dict[str, Any]]:
    with gzip.open(shared / "data/medquad/corpus.jsonl.gz", "rt") as stream:
        rows = [json.loads(line) for line, _ in zip(stream, range(documents * 3), strict=False)]
    return [record(r["id"], r["text"], title=r["title"]) for r in rows if len(r["text"]) > 1500][:documents]


@pytest.mark.parametrize(("corpus", "documents"), [(leaflets, 6), (answers, 60)])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("structure", "fixed:size=200,overlap=40"),
        ("sentence-window", "structure"),
        ("structure", "parent-child"),
    ],
)
async def test_judgements_survive_another_chunker(
    engine: AsyncVeraz, shared: Path, tmp_path: Path, corpus: Any, documents: int, first: str, second: str
) -> None:
    texts = corpus(shared, documents)
    await put(engine, *texts, chunker=first)
    chosen = []
    for text in texts:
        shown = await engine.show(text["id"])
        chosen += [(text["id"], chunk.spans[0].start, chunk.spans[-1].end) for chunk in shown.chunks]
    count = min(len(chosen), 200)
    assert count >= 60
    picked = random.Random(7).sample(chosen, count)
    rows = tuple(SpanRow("q", "s", d, 0, a, b, n % 4, f"row {n}") for n, (d, a, b) in enumerate(picked))
    folder = tmp_path / "suite"
    await engine.import_spans(
        folder, SuiteDraft({"q": QueryRequest("q", "¿Qué?")}, spans=rows), manifest=MANIFEST
    )
    before = await engine.check_suite(folder)
    assert (before.judgements, before.bound, before.moved) == (count, count, 0)

    cut = await put(engine, *texts, chunker=second)
    assert cut.changed == len(texts), "every document was cut again"
    after = await engine.check_suite(folder)
    assert after.share >= 0.99, after.unbound[:5]


async def test_a_revision_that_shifts_everything_keeps_what_it_did_not_change(
    engine: AsyncVeraz, shared: Path, tmp_path: Path
) -> None:
    texts = answers(shared, 12)
    await put(engine, *texts)
    rows = []
    for text in texts:
        shown = await engine.show(text["id"])
        rows += [
            SpanRow("q", "s", text["id"], 0, c.spans[0].start, c.spans[-1].end, 1, "row")
            for c in shown.chunks
        ]
    folder = tmp_path / "suite"
    await engine.import_spans(
        folder, SuiteDraft({"q": QueryRequest("q", "?")}, spans=tuple(rows)), manifest=MANIFEST
    )
    await put(engine, *({**t, "text": "Reviewed again this year.\n\n" + t["text"]} for t in texts[:-1]))
    gone = texts[-1]
    await put(engine, {**gone, "text": gone["text"].replace("e", "é")})
    after = await engine.check_suite(folder)
    of_gone = [r for r in rows if r.external_id == gone["id"]]
    assert {(u.external_id, u.why) for u in after.unbound} == {(gone["id"], "text")}
    assert len(after.unbound) == len(of_gone)
    assert after.moved == after.bound == len(rows) - len(of_gone)


# What the fields of a query do

COLD = "A cold passes by itself within a week. Rest and drink."
BURN = "Cool a burn for twenty minutes. Never use ice on a burn."


async def test_spans_are_earned_by_a_search(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("cold", COLD), record("burn", BURN))
    folder = suite(
        tmp_path / "s",
        [
            {"id": "q1", "text": "burn ice", "facets": ["exact"]},
            {"id": "q2", "text": "cold week", "split": "private"},
        ],
        [judged("q1", "burn", BURN, "Never use ice on a burn."), judged("q2", "cold", COLD, "within a week")],
    )
    report = await run(engine, folder, out=tmp_path / "out", trec_run=tmp_path / "x.run", gates=["bound==1"])
    assert report.metrics["ndcg@5"] == 1
    assert report.private is not None
    assert report.private.metrics["ndcg@5"] == 1
    assert report.bound is not None
    assert (report.bound.judgements, report.bound.bound) == (1, 1), "without the private one"
    assert (await engine.check_suite(folder)).judgements == 2
    assert report.config["suite"] == {"name": "leaflets", "version": "1"}
    assert report.gates[0].passed
    [result] = read_results(tmp_path / "out")
    first = result.ranked[0]
    assert first.place is not None
    assert (first.place.document, first.place.start, first.grade) == (("s", "burn"), 0, 2)
    [line] = (tmp_path / "x.run.qrels").read_text().splitlines()
    assert line == f"q1 0 {first.docid} 2"
    assert (tmp_path / "x.run").read_text().startswith(f"q1 Q0 {first.docid} 1 ")


async def test_language_filters_and_day_of_each_query_are_obeyed(engine: AsyncVeraz, tmp_path: Path) -> None:
    old, new = "Cool the burn for ten minutes.", "Cool the burn for twenty minutes."
    await put(engine, record("dated", old, revised_at="2020-01-01"))
    await put(engine, record("dated", new, revised_at="2024-01-01"))
    await put(engine, record("es", "Enfriar la burn veinte minutos.", lang="es"), source="other")
    ask = {"text": "cool burn minutes"}
    folder = suite(
        tmp_path / "s",
        [
            {"id": "now", **ask},
            {"id": "then", **ask, "as_of": "2021-01-01"},
            {"id": "before", **ask, "as_of": "2019-01-01"},
            {"id": "spanish", **ask, "lang": "es", "filters": {"langs": ["es"], "sources": ["other"]}},
            {"id": "recent", **ask, "filters": {"revised_from": "2025-01-01"}},
        ],
        [
            judged("now", "dated", new, new, source="s"),
            judged("then", "dated", old, old, source="s"),
            judged("before", "dated", old, old, source="s"),
            judged("spanish", "es", "Enfriar la burn veinte minutos.", "Enfriar la burn", source="other"),
            judged("recent", "dated", new, new, source="s"),
        ],
        sources='"s", "other"',
    )
    report = await run(engine, folder)
    found = {r.query_id: r.measures["success@1"] for r in report.results}
    assert found == {"now": 1, "then": 1, "before": 0, "spanish": 1, "recent": 0}
    places = {
        r.query_id: [(d.place.external_id, d.place.revision) for d in r.ranked if d.place]
        for r in report.results
    }
    assert places == {
        "now": [("dated", 2), ("es", 1)],
        "then": [("dated", 1)],
        "before": [],
        "spanish": [("es", 1)],
        "recent": [],
    }
    assert report.bound is not None
    assert (report.bound.bound, [(u.query_id, u.why) for u in report.bound.unbound]) == (
        4,
        [("before", "document")],
    )


async def test_queries_are_asked_in_their_tenant_and_with_their_roles(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    pay = "The burn allowance is paid in May."
    await put(engine, record("burn", BURN), record("pay", pay, acl=["hr"]))
    clinic = await engine.ensure_tenant("clinic")
    await put(engine, record("burn", "In the clinic a burn is cooled at once."), identity=clinic)
    local = "In the clinic a burn is cooled at once."
    queries = [
        {"id": "own", "text": "burn"},
        {"id": "hr", "text": "burn allowance", "roles": ["hr"]},
        {"id": "not-hr", "text": "burn allowance"},
        {"id": "clinic", "text": "burn", "tenant": "clinic"},
    ]
    folder = suite(
        tmp_path / "s",
        queries,
        [
            judged("own", "burn", BURN, BURN),
            judged("hr", "pay", pay, pay),
            judged("not-hr", "pay", pay, pay),
            judged("clinic", "burn", local, local),
        ],
    )
    report = await run(engine, folder)
    found = {r.query_id: r.measures["success@1"] for r in report.results}
    assert found == {"own": 1, "hr": 1, "not-hr": 0, "clinic": 1}
    assert report.authorised_fraction == 3 / 4, "one of them may not be read by who asks"
    assert report.bound is not None
    assert [(u.query_id, u.why) for u in report.bound.unbound] == [("not-hr", "document")]

    key = await engine.add_key("portal", roles=["public", "hr"], may_write=True)
    caller = engine.acting_as(await engine.authenticate(key=key.key))
    with pytest.raises(AccessDenied, match="query 'clinic': it is asked in another tenant"):
        await run(caller, folder)
    lines(folder / "queries.jsonl", queries[:3])
    narrowed = await run(caller, folder)
    assert {r.query_id: r.measures["success@1"] for r in narrowed.results} == {"own": 1, "hr": 1, "not-hr": 1}
    lines(folder / "queries.jsonl", [{**queries[0], "roles": ["secret"]}])
    with pytest.raises(AccessDenied, match="query 'own'"):
        await run(caller, folder)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"lang": "klingon"}, "query 'q1': 'klingon' is no language"),
        ({"filters": {"authority": 9}}, "query 'q1': authority is 9"),
        ({"tenant": "nowhere"}, "query 'q1': no tenant 'nowhere'"),
        ({"roles": []}, "query 'q1': 0 roles"),
        ({"filters": {"sources": ["misspelt"]}}, "has no source 'misspelt'"),
    ],
)
async def test_what_a_query_asks_wrongly_is_told_before_the_first_search(
    engine: AsyncVeraz, tmp_path: Path, query: dict[str, Any], message: str
) -> None:
    await put(engine, record("burn", BURN))
    asked: list[Any] = []
    folder = suite(
        tmp_path / "s", [{"id": "q1", "text": "burn", **query}], [judged("q1", "burn", BURN, BURN)]
    )
    with pytest.raises(UsageError, match=message):
        await engine.evaluate(folder, progress=lambda *n: asked.append(n))
    assert asked == []


async def test_the_source_can_be_another_one(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("burn", BURN), source="mine")
    folder = suite(tmp_path / "s", [{"id": "q1", "text": "burn"}], [judged("q1", "burn", BURN, BURN)])
    with pytest.raises(UsageError, match="no source 's'"):
        await run(engine, folder)
    assert (await run(engine, folder, source="mine")).metrics["ndcg@5"] == 1
    assert (await engine.check_suite(folder, source="mine")).share == 1


async def test_judged_documents_are_bound_where_they_may_be_read(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("burn", BURN), record("pay", "The burn allowance.", acl=["hr"]))
    folder = suite(
        tmp_path / "s", [{"id": "q1", "text": "burn"}, {"id": "q2", "text": "pay", "roles": ["hr"]}]
    )
    (folder / "qrels.tsv").write_text("q1\tburn\t1\nq1\tpay\t1\nq1\tgone\t0\nq2\tpay\t2\n")
    binding = await engine.check_suite(folder)
    assert (binding.judgements, binding.bound) == (4, 2)
    assert [(u.source, u.external_id, u.why) for u in binding.unbound] == [
        ("s", "pay", "document"),
        ("s", "gone", "document"),
    ]


async def test_a_suite_may_bring_its_corpus(engine: AsyncVeraz, tmp_path: Path) -> None:
    folder = suite(tmp_path / "s", [{"id": "q1", "text": "burn"}], [judged("q1", "burn", BURN, BURN)])
    lines(folder / "corpus.jsonl", [{"id": "burn", "title": "burn", "text": BURN}])
    assert (await run(engine, folder)).metrics["ndcg@5"] == 1


async def test_outcomes_are_observed_as_far_as_a_search_can_say(
    database: str, embedder: HashingEmbedder, tmp_path: Path
) -> None:
    settings = AnswerConfig(threshold=0.999)
    async with await databases.open_engine(database, embedder, answer=settings) as engine:
        await put(engine, record("burn", BURN))
        folder = suite(
            tmp_path / "s",
            [
                {"id": "never", "text": "burn ice", "outcome": "answered"},
                {"id": "weak", "text": "burn planets", "outcome": "insufficient"},
                {"id": "none", "text": "zebra", "outcome": "nothing"},
                {
                    "id": "first",
                    "text": "My child has swallowed bleach and cannot breathe",
                    "outcome": "routed",
                },
                {"id": "plain", "text": "burn ice"},
            ],
            [judged("never", "burn", BURN, BURN), judged("plain", "burn", BURN, BURN)],
        )
        report = await run(engine, folder)
    observed = {o.query_id: (o.observed, o.agrees) for o in report.outcomes}
    assert observed == {
        "never": ("insufficient", False),
        "weak": ("insufficient", True),
        "none": ("nothing", True),
        "first": ("routed", True),
    }
    assert report.queries == 2, "what expects a refusal is in no mean"
    assert report.outcome_agreement == 3 / 4


async def test_the_example_is_bound_and_found(engine: AsyncVeraz) -> None:
    await engine.ingest(CORPUS, source="demo")
    example = Path(__file__).resolve().parents[2] / "examples/suite"
    assert (await engine.check_suite(example)).share == 1
    [report] = await engine.evaluate(example, ks=(5,))
    assert report.metrics["recall@5"] > 0.7
    assert {o.query_id: o.observed for o in report.outcomes}["choking"] == "routed"
    assert set(report.facets) == {"paraphrase", "exact identifier", "negation", "recency", "table"}
    assert report.private is not None


# Judging and importing


async def test_a_pool_of_fresh_searches_and_stored_runs_is_judged(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("cold", COLD), record("burn", BURN), record("twin", BURN))
    queries = [{"id": "q1", "text": "burn ice"}, {"id": "q2", "text": "zebra"}]
    folder = suite(tmp_path / "s", queries)
    told: list[tuple[int, int]] = []
    at = await engine.judging(
        folder, judge="ana", modes=("lexical", "semantic"), progress=lambda *n: told.append(n)
    )
    assert told == [(1, 2), (2, 2)]
    seen = {}
    while task := at.current():
        assert task.passage.text in (BURN, COLD)
        seen[task.request.query_id, task.passage.external_id] = task.passage
        at.grade(2 if task.passage.text == BURN and task.request.query_id == "q1" else 0)
    assert {d for q, d in seen if q == "q1"} == {"burn", "twin", "cold"}, "twins are judged one by one"
    assert seen["q1", "burn"].title == "burn"
    said = read_judgements(folder / "judgements.jsonl")
    assert {(j.external_id, j.grade) for j in said if j.query_id == "q1"} == {
        ("burn", 2),
        ("twin", 2),
        ("cold", 0),
    }
    report = await run(engine, folder, out=tmp_path / "out")
    assert report.results[0].measures["recall@5"] == 1

    again = await engine.judging(folder, judge="ana", modes=("lexical",), runs=[tmp_path / "out"])
    assert again.current() is None
    other = await engine.judging(folder, judge="ben", runs=[tmp_path / "out"])
    assert other.progress.total == sum(len(r.ranked) for r in report.results)


async def test_what_was_judged_is_not_asked_again_after_a_revision(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    await put(engine, record("burn", BURN))
    folder = suite(tmp_path / "s", [{"id": "q1", "text": "burn"}])
    (await engine.judging(folder, judge="ana", modes=("lexical",))).grade(2)
    later = "# New heading\n\nAn introduction of some length.\n\n# Burns\n\n" + BURN
    await put(engine, record("burn", later, format="markdown"))
    at = await engine.judging(folder, judge="ana", modes=("lexical",))
    assert (at.progress.judged, at.progress.total) == (1, 2)
    assert (task := at.current()) is not None
    assert task.passage.text == "An introduction of some length.", "found by its title, and new"
    ben = await engine.judging(folder, judge="ben", modes=("lexical",))
    while (task := ben.current()) is not None and task.passage.text != BURN:
        ben.skip()
    ben.grade(1)
    assert len(load_dataset(folder).spans["q1"]) == 1, "the same unit, wherever it stands"


async def test_nobody_judges_what_they_may_not_read(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("burn", BURN), record("pay", "The burn allowance.", acl=["hr"]))
    everybody = suite(tmp_path / "a", [{"id": "q1", "text": "burn", "roles": ["public", "hr"]}])
    lexical = ("lexical",)
    assert (await engine.judging(everybody, judge="x", modes=lexical)).progress.total == 2
    lines(everybody / "queries.jsonl", [{"id": "q1", "text": "burn"}])
    assert (await engine.judging(everybody, judge="x", modes=lexical)).progress.total == 1


async def test_stored_traces_become_judgements(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("cold", COLD), record("burn", BURN))
    found = await engine.search("burn ice", mode="lexical")
    graded = [GradedTrace(str(found.trace_id), {1: 3}, "by id")]
    folder = tmp_path / "s"
    made = await engine.import_spans(
        folder, SuiteDraft({}), manifest=replace(MANIFEST, sources=()), graded=graded
    )
    assert (made.queries, made.judgements) == (1, 1)
    dataset = load_dataset(folder)
    [span] = dataset.spans[f"trace-{found.trace_id}"]
    assert (span.external_id, span.grade, span.sha256) == ("burn", 3, text_hash(BURN))
    assert dataset.sources == ("s",)
    other = await engine.search("cold week", mode="lexical")
    more = [*graded, GradedTrace(str(other.trace_id), {1: 2}, "by id")]
    added = await engine.import_spans(folder, SuiteDraft({}), manifest=MANIFEST, graded=more)
    assert (added.queries, added.judgements) == (1, 2)
    assert len(load_dataset(folder).queries) == 2
    assert (await run(engine, folder)).metrics["ndcg@5"] == 1


async def test_a_reader_cannot_learn_a_hash_of_what_it_may_not_read(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    await put(engine, record("pay", "The burn allowance.", acl=["hr"]))
    rows = (SpanRow("q", "s", "pay", 0, 0, 8, 2, "t.csv:2"),)
    with pytest.raises(UsageError, match=r"t\.csv:2: no text at 0–8 of 'pay'"):
        await engine.import_spans(
            tmp_path / "s", SuiteDraft({"q": QueryRequest("q", "?")}, spans=rows), manifest=MANIFEST
        )
    assert not (tmp_path / "s").exists()
