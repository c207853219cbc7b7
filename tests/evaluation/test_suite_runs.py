"""Runs over suites as they are kept, compared, reported and erased: where suites and stored runs meet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.test_suite_engine import judged, lines, run, suite
from tests.support.corpus import maintenance_rows, put, record

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.evaluation.reporting.page import report as page
from veraz.evaluation.runs.files import read_run
from veraz.nouns.evaluation import EvalReport

BURN = "A burn is cooled for twenty minutes. Never use ice on a burn."
FEVER = "Fever above 39 degrees is treated with the blue syrup."
MARK = "zyxquork"
QUERIES: list[dict[str, Any]] = [
    {"id": "ice", "text": f"ice on a burn of {MARK}", "facets": ["negation", "table"], "outcome": "answered"},
    {"id": "syrup", "text": "blue syrup", "facets": ["table"]},
    {"id": "giraffe", "text": f"giraffe {MARK}", "outcome": "nothing", "facets": ["refusal"]},
    {"id": "hidden", "text": "fever", "split": "private"},
]
JUDGED = [
    judged("ice", "burn", BURN, "Never use ice on a burn."),
    judged("ice", "gone", "ab", "a"),
    judged("syrup", "fever", FEVER, FEVER),
    judged("hidden", "fever", FEVER, FEVER),
]


@pytest.fixture
async def folder(engine: AsyncVeraz, tmp_path: Path) -> Path:
    await put(engine, record("burn", BURN), record("fever", FEVER))
    return suite(tmp_path / "suite", QUERIES, JUDGED)


async def test_a_stored_run_of_a_suite_holds_its_figures_and_names_nothing_outside_its_queries(
    engine: AsyncVeraz, folder: Path, tmp_path: Path
) -> None:
    made = await run(engine, folder, out=tmp_path / "out")
    assert made.bound is not None
    assert (made.bound.judgements, made.bound.bound, len(made.bound.unbound)) == (3, 2, 1)
    found = await engine.eval_run(made.run_id)
    assert found.facets == {"ice": ("negation", "table"), "syrup": ("table",)}
    assert found.header.facets == made.facets
    assert set(made.facets) == {"negation", "table", "refusal"}
    assert found.header.private == made.private
    assert found.header.outcome_agreement == made.outcome_agreement
    assert [(o.query_id, o.text, o.observed) for o in found.header.outcomes] == [
        (o.query_id, "", o.observed) for o in made.outcomes
    ]
    assert found.header.bound == replace(made.bound, unbound=())
    assert {r.query_id for r in found.results} == {"ice", "syrup"}, "the private split is one figure"
    assert found.values == {r.query_id: r.measures for r in made.results}
    assert found.header.config["suite"] == {"name": "leaflets", "version": "1"}
    corpus = found.header.config["corpus"]
    assert (corpus["documents"], corpus["chunks"]) == (2, 2)
    kept = await maintenance_rows(engine, "select report::text from veraz.eval_run")
    assert [MARK in text or '"gone"' in text for (text,) in kept] == [False]
    files = read_run(tmp_path / "out")
    assert files.header.outcomes == made.outcomes
    assert files.facets == found.facets


async def test_facets_of_a_suite_are_bars_of_the_report(engine: AsyncVeraz, folder: Path) -> None:
    made = await run(engine, folder)
    written = page([await engine.eval_run(made.run_id)], measure="recall@5")
    for facet, queries in (("negation", ["ice"]), ("table", ["ice", "syrup"])):
        mean = sum(made_of(made, q) for q in queries) / len(queries)
        assert mean == made.facets[facet].metrics["recall@5"]
        assert f"{facet}, " in written
        assert f": {mean:.4f}" in written
    assert "judgements that are bound" in written
    assert "66.7%" in written
    assert "outcomes as expected" in written


def made_of(report: EvalReport, query_id: str) -> float:
    return next(r.measures["recall@5"] for r in report.results if r.query_id == query_id)


async def test_a_gate_holds_a_suite_against_a_stored_baseline(engine: AsyncVeraz, folder: Path) -> None:
    before = await run(engine, folder)
    gates = ("recall@5 not worse", "bound>=baseline", "outcome_agreement>=baseline", "shortfall==0")
    after = await run(engine, folder, baseline=before.run_id, gates=gates)
    assert [g.passed for g in after.gates] == [True] * 4
    assert {c.queries for c in after.comparisons} == {2}, "the private split is not compared"
    assert all(c.p_holm is not None for c in after.comparisons)

    await engine.erase("burn", source="s")
    worse = await run(engine, folder, baseline=before.run_id, gates=("bound>=baseline", "recall@5 better"))
    assert [(g.passed, g.baseline) for g in worse.gates] == [
        (False, pytest.approx(2 / 3)),
        (False, before.metrics["recall@5"]),
    ]
    [compared] = await engine.compare_runs([before.run_id, worse.run_id], measures=["recall@5"])
    assert [(c.query_id, c.before, c.after) for c in compared.changed] == [("ice", 0.5, 0.0)]


async def test_an_erasure_finds_runs_that_name_a_document_by_its_spans(
    engine: AsyncVeraz, folder: Path
) -> None:
    """In a ranking, as a judged span or as a place without one, and among what was missed."""
    await put(engine, record("burn 2", "About a burn of another kind."))
    made = await run(engine, folder)
    questions = "select query_id, question from veraz.eval_query order by ord"
    assert dict(await maintenance_rows(engine, questions)) == {
        "ice": f"ice on a burn of {MARK}",
        "syrup": "blue syrup",
    }
    ranked = {r.query_id: [d.docid for d in r.ranked] for r in made.results}
    assert any(d.startswith("s/burn#") for d in ranked["ice"])
    assert any(d.startswith("s/burn 2@") for d in ranked["ice"])
    await engine.erase("fever", source="s")
    assert dict(await maintenance_rows(engine, questions)) == {
        "ice": f"ice on a burn of {MARK}",
        "syrup": "[erased]",
    }
    await engine.erase("burn 2", source="s")
    assert dict(await maintenance_rows(engine, questions)) == {"ice": "[erased]", "syrup": "[erased]"}

    await engine.restore("fever", source="s")
    await put(engine, record("fever", FEVER, acl=["hr"]))
    lines(folder / "queries.jsonl", QUERIES)
    missing = await run(engine, folder)
    [syrup] = [r for r in missing.results if r.query_id == "syrup"]
    assert list(syrup.missed)
    assert syrup.ranked == ()
    of_run = "select question from veraz.eval_query where run_id = %s and query_id = 'syrup'"
    assert await maintenance_rows(engine, of_run, missing.run_id) == [("blue syrup",)]
    await engine.erase("fever", source="s")
    assert await maintenance_rows(engine, of_run, missing.run_id) == [("[erased]",)]


async def test_a_run_is_kept_with_the_roles_that_any_query_was_asked_with(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    await put(engine, record("burn", BURN, acl=["hr"]), record("fever", FEVER))
    queries: list[dict[str, Any]] = [
        {"id": "ice", "text": "ice", "roles": ["hr"]},
        {"id": "syrup", "text": "blue syrup"},
    ]
    of_both = [judged("ice", "burn", BURN, BURN), judged("syrup", "fever", FEVER, FEVER)]
    folder = suite(tmp_path / "suite", queries, of_both)
    mine = await engine.identity()
    assert "hr" not in mine.roles
    made = await run(engine, folder)
    with pytest.raises(UsageError, match="no run"):
        await engine.eval_run(made.run_id)
    with_hr = engine.acting_as(replace(mine, roles=(*mine.roles, "hr")))
    assert (await with_hr.eval_run(made.run_id)).values["ice"]["success@1"] == 1
    assert set(made.config["roles"]) == {*mine.roles, "hr"}


async def test_a_run_over_several_tenants_is_written_to_files_alone(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    await put(engine, record("burn", BURN))
    clinic = await engine.ensure_tenant("clinic")
    await put(engine, record("fever", FEVER), identity=clinic)
    queries = [{"id": "ice", "text": "ice"}, {"id": "syrup", "text": "blue syrup", "tenant": "clinic"}]
    spans = [judged("ice", "burn", BURN, BURN), judged("syrup", "fever", FEVER, FEVER)]
    folder = suite(tmp_path / "suite", queries, spans)
    made = await run(engine, folder, out=tmp_path / "out")
    assert [w for w in made.warnings if w.startswith("not kept: its queries are asked in several tenants")]
    assert await maintenance_rows(engine, "select count(*) from veraz.eval_run") == [(0,)]
    assert read_run(tmp_path / "out").values["syrup"]["success@1"] == 1

    lines(folder / "queries.jsonl", queries[1:])
    lines(folder / "judgements.jsonl", spans[1:])
    there = await run(engine, folder)
    assert there.warnings == ()
    found = await engine.acting_as(clinic).eval_run(there.run_id)
    assert (found.tenant, found.header.config["tenant"]) == ("clinic", "clinic")


async def test_a_suite_of_outcomes_alone_is_gated_and_kept(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("burn", BURN))
    folder = suite(tmp_path / "suite", [{"id": "g", "text": "giraffe", "outcome": "nothing"}])
    before = await run(engine, folder)
    gate = "outcome_agreement>=baseline"
    after = await run(engine, folder, baseline=before.run_id, gates=(gate,))
    assert [(g.passed, g.value) for g in after.gates] == [(True, 1.0)]
    found = await engine.eval_run(after.run_id)
    assert found.results == ()
    with pytest.raises(UsageError, match="no measure"):
        page([found])
    assert json.loads(json.dumps(after.metrics)) == {}
