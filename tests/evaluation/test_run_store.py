"""Runs in the database: what is kept, who reads it, and how it goes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.corpus import maintenance_rows, put, record
from tests.support.judged import made_run, with_results

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.evaluation.runs import store
from veraz.evaluation.runs.comparison import setting_changes
from veraz.nouns.corpus import Identity
from veraz.nouns.evaluation import QueryResult
from veraz.nouns.lifecycle import Retention

QRELS = {"q1": {"d1": 2, "d9": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
RANKED = {"q1": ["d2", "d1"], "q2": ["d2"], "q3": []}
HIDDEN = "zyxquork"


def folder(tmp_path: Path, *, corpus: bool = False) -> Path:
    place = tmp_path / "judged"
    place.mkdir(exist_ok=True)
    queries = [{"_id": "q1", "text": f"fever of {HIDDEN}"}, {"_id": "q2", "text": "burn"}]
    (place / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    (place / "qrels.tsv").write_text("q1\td1\t1\nq1\td9\t1\nq2\td2\t1\n")
    if corpus:
        lines = [{"_id": f"d{n}", "text": t} for n, t in ((1, "Fever."), (2, "A burn."), (9, "Else."))]
        (place / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in lines))
    return place


async def keep(engine: AsyncVeraz, run_id: str, *, as_: Identity | None = None, **more: Any) -> None:
    identity = as_ or await engine.identity()
    report = with_results(made_run(RANKED, QRELS, run_id=run_id, **more))
    async with engine._database.transaction(identity, "write") as connection:
        await store.insert(connection, report)


async def test_a_run_reads_back_as_it_was(engine: AsyncVeraz) -> None:
    facets = {"q1": ("table", "negation")}
    made = made_run(RANKED, QRELS, facets=facets, config={"search": {"pool": 100}, "none": None})
    changed = replace(
        made.results[2],
        error="DatabaseError: lost",
        latency_ms=None,
        shortfall={"arm": "semantic", "exact": 9},
    )
    report = replace(with_results(made), results=(*made.results[:2], changed), failed=1, warnings=("odd",))
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await store.insert(connection, report)
    found = await engine.eval_run(report.run_id)
    assert found.header == replace(report, results=())
    assert found.results == report.results
    assert (found.origin, found.tenant, found.facets) == ("database", "default", facets)


async def test_a_question_that_no_jsonb_takes_does_not_lose_the_run(engine: AsyncVeraz) -> None:
    made = made_run(RANKED, QRELS, texts={"q1": "a\0b \\u0000 c", "q2": "'; drop table x; --"})
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await store.insert(connection, with_results(made))
    texts = [r.text for r in (await engine.eval_run(made.header.run_id)).results]
    assert texts == ["a b \\u0000 c", "'; drop table x; --", "What about q3?"]


async def test_a_run_is_named_by_a_unique_beginning_of_its_id(engine: AsyncVeraz) -> None:
    await keep(engine, "aaaa1111-0000-4000-8000-000000000000")
    await keep(engine, "aaaa2222-0000-4000-8000-000000000000")
    assert (await engine.eval_run("aaaa1")).header.run_id.startswith("aaaa1111")
    assert (await engine.eval_run("AAAA2222-0000")).header.run_id.startswith("aaaa2222")
    with pytest.raises(UsageError, match="several runs begin with 'aaaa'"):
        await engine.eval_run("aaaa")
    for name in ("bbbb", "nothing", "../nowhere", ""):
        with pytest.raises(UsageError, match=r"(?s)no run .*veraz eval runs"):
            await engine.eval_run(name)


async def test_a_run_is_shown_to_who_holds_the_roles_that_made_it(engine: AsyncVeraz) -> None:
    """Rankings name documents: what its roles could read, others may not learn of."""
    await put(engine, record("d1", "Fever."), record("d2", "A burn.", acl=["hr"]))
    own = await engine.identity()
    staff = replace(own, roles=("public", "hr"))
    beta = engine.acting_as(await engine.ensure_tenant("beta"))
    await keep(engine, "aaaa1111-0000-4000-8000-000000000000", as_=staff)
    await keep(engine, "bbbb1111-0000-4000-8000-000000000000")
    assert [r.run_id[:4] for r in await engine.eval_runs()] == ["bbbb"]
    with pytest.raises(UsageError, match="no run 'aaaa'"):
        await engine.eval_run("aaaa")
    assert {r.run_id[:4] for r in await engine.acting_as(staff).eval_runs()} == {"aaaa", "bbbb"}
    assert len((await engine.acting_as(staff).eval_run("aaaa")).results) == 3
    assert await beta.eval_runs() == ()
    with pytest.raises(UsageError, match="no run 'bbbb'"):
        await beta.eval_run("bbbb")


async def test_an_evaluation_keeps_all_that_could_explain_it(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("d1", "Fever."), record("d2", "A burn."), record("d9", "Else."))
    (report,) = await engine.evaluate(folder(tmp_path), source="s", ks=(1, 5), modes=("lexical",))
    found = await engine.eval_run(report.run_id[:8])
    assert found.header.metrics == report.metrics
    assert [(r.query_id, r.missed) for r in found.results] == [("q1", {"d9": 1}), ("q2", {})]
    assert set(found.header.stages_ms) >= {"arms", "fuse", "read"}
    config = found.header.config
    assert (config["corpus"]["documents"], config["corpus"]["chunks"]) == (3, 3)
    assert config["corpus"]["chunkers"]
    assert config["corpus"]["parsers"]
    assert "hnsw" in config["index"]["definitions"]["embedding_1_hnsw"]
    assert {"posting_pkey", "chunk_lexical_pkey"} <= set(config["index"]["definitions"])
    assert config["search"]["fusion"] == "minmax"
    assert config["reranker"] is None
    assert config["embedding_space"]["dimension"] == 384
    assert config["server"]["postgresql"]
    assert config["server"]["pgvector"]
    assert config["server"]["settings"]["shared_buffers"]
    assert config["machine"]["cores"] >= 1
    assert config["machine"]["memory_bytes"] > 2**28
    assert len(config["code"]) == 12
    (again,) = await engine.evaluate(folder(tmp_path), source="s", ks=(1, 5), modes=("lexical",))
    assert setting_changes(report, again) == (), "two runs of the same differ in nothing"
    await put(engine, record("d2", "A burn, cooled."))
    (later,) = await engine.evaluate(folder(tmp_path), source="s", ks=(1, 5), modes=("lexical",))
    assert [s.name for s in setting_changes(report, later)] == ["corpus.fingerprint"]


async def test_the_corpus_is_fingerprinted_as_its_reader_sees_it(engine: AsyncVeraz) -> None:
    async def state(*roles: str) -> store.CorpusState:
        identity = replace(await engine.identity(), roles=roles)
        async with engine._database.transaction(identity) as connection:
            return await store.corpus_state(connection, None)

    assert (await state("public")).documents == 0
    await put(engine, record("d1", "Fever."))
    one = await state("public")
    await put(engine, record("d2", "A burn.", acl=["hr"]))
    assert await state("public") == one
    both = await state("public", "hr")
    assert (both.documents, both.fingerprint == one.fingerprint) == (2, False)
    await engine.delete("d2", source="s")
    assert (await state("public", "hr")).fingerprint == one.fingerprint


async def test_a_baseline_is_a_stored_run_too_and_gates_hold_against_it(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    await put(engine, record("d1", "Fever."), record("d2", "A burn."))
    judged = folder(tmp_path)
    gates = ("ndcg@5 not worse", "ndcg@5>=baseline-0.01", "empty<=baseline", "latency_ms.p50<=baseline*1000")
    with pytest.raises(UsageError, match="compares with a baseline, and none is given"):
        await engine.evaluate(judged, source="s", ks=(5,), modes=("lexical",), gates=gates)
    (first,) = await engine.evaluate(judged, source="s", ks=(5,), modes=("lexical",))
    (second,) = await engine.evaluate(
        judged, source="s", ks=(5,), modes=("lexical",), gates=gates, baseline=first.run_id[:8]
    )
    assert [g.passed for g in second.gates] == [True] * 4
    await put(engine, record("d1", "Nothing of the kind."))
    (worse,) = await engine.evaluate(
        judged, source="s", ks=(5,), modes=("lexical",), gates=gates, baseline=first.run_id
    )
    assert [g.passed for g in worse.gates] == [False, False, False, True]
    (judged / "qrels.tsv").write_text("q1\td1\t2\nq2\td2\t1\n")
    with pytest.raises(UsageError, match="other queries, judgements or documents"):
        await engine.evaluate(judged, source="s", ks=(5,), modes=("lexical",), baseline=first.run_id)


async def test_each_mode_has_its_own_baseline(engine: AsyncVeraz, tmp_path: Path) -> None:
    await put(engine, record("d1", "Fever."), record("d2", "A burn."))
    judged, before = folder(tmp_path), tmp_path / "before"
    modes = ("lexical", "semantic")
    await engine.evaluate(judged, source="s", ks=(5,), modes=modes, out=before)  # type: ignore[arg-type]
    lexical, semantic = await engine.evaluate(
        judged, source="s", ks=(5,), modes=modes, baseline=before, gates=("ndcg@5>=baseline",)  # type: ignore[arg-type]
    )  # fmt: skip
    for report in (lexical, semantic):
        assert {c.mean_difference for c in report.comparisons} == {0.0}
        assert report.gates[0].passed


async def test_an_operator_finds_runs_of_collections_that_evaluations_loaded(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    judged, out = folder(tmp_path, corpus=True), tmp_path / "out"
    (report,) = await engine.evaluate(judged, ks=(5,), modes=("lexical",), out=out)
    (listed,) = await engine.eval_runs()
    assert listed.run_id == report.run_id
    assert listed.tenant.startswith("eval-judged-")
    assert (await engine.eval_run(report.run_id[:8])).tenant == listed.tenant
    key = await engine.add_key("portal", roles=["public"])
    portal = engine.acting_as(await engine.authenticate(key=key.key))
    assert await portal.eval_runs() == ()
    for name in (report.run_id, str(tmp_path / "out")):
        with pytest.raises(UsageError, match="no run"):
            await portal.eval_run(name)
    assert (await engine.eval_run(str(tmp_path / "out"))).header.run_id == report.run_id


async def test_runs_are_listed_newest_first_and_by_dataset(engine: AsyncVeraz) -> None:
    identity = await engine.identity()
    for number, dataset in enumerate(("med", "cisi", "med")):
        report = with_results(made_run(RANKED, QRELS, run_id=f"{number}aaa1111-0000-4000-8000-000000000000"))
        moment = report.started_at.replace(day=1 + number)
        async with engine._database.transaction(identity, "write") as connection:
            await store.insert(connection, replace(report, dataset=dataset, started_at=moment))
    assert [r.run_id[0] for r in await engine.eval_runs()] == ["2", "1", "0"]
    assert [r.run_id[0] for r in await engine.eval_runs(dataset="med")] == ["2", "0"]
    assert [r.run_id[0] for r in await engine.eval_runs(top=1)] == ["2"]


async def test_compare_takes_names_of_runs(engine: AsyncVeraz) -> None:
    await keep(engine, "aaaa1111-0000-4000-8000-000000000000")
    await keep(engine, "bbbb1111-0000-4000-8000-000000000000", config={"mode": "lexical"})
    (one,) = await engine.compare_runs(["aaaa", "bbbb"], measures=["mrr@10"])
    assert (one.baseline, one.run) == ("aaaa1111 (hybrid)", "bbbb1111 (lexical)")
    assert [s.name for s in one.settings] == ["mode"]


# --- how they go


async def test_an_erasure_takes_the_questions_of_runs_that_name_the_document(engine: AsyncVeraz) -> None:
    """Whether it was found or missed; ids and figures stay, and other questions too."""
    await put(engine, record("d1", "Fever."), record("d9", "Else."))
    hidden = replace(await engine.identity(), roles=("public", "board"))
    await keep(engine, "aaaa1111-0000-4000-8000-000000000000", texts={"q1": f"about {HIDDEN}"}, as_=hidden)
    errors = "update veraz.eval_query set error = 'ItemError: zyxquork' where query_id = 'q1' returning 1"
    await maintenance_rows(engine, errors)
    before = (await engine.acting_as(hidden).eval_run("aaaa")).results
    erased = await engine.erase("d9", source="s")  # missed by q1
    assert erased is not None
    assert erased.queries == 1
    after = (await engine.acting_as(hidden).eval_run("aaaa")).results
    assert [r.text for r in after] == ["[erased]", "What about q2?", "What about q3?"]
    assert [stripped(r) for r in after] == [stripped(r) for r in before]
    found = await maintenance_rows(
        engine, "select count(*) from veraz.eval_query t where t::text like '%zyxquork%'"
    )
    assert found == [(0,)]


def stripped(result: QueryResult) -> QueryResult:
    return replace(result, text="", error=None)


async def test_old_runs_go_with_their_queries(engine: AsyncVeraz) -> None:
    for n in range(3):
        await keep(engine, f"{n}aaa1111-0000-4000-8000-000000000000")
    await maintenance_rows(engine, "update veraz.eval_run set created_at = now() returning 1")
    old = "update veraz.eval_run set created_at = now() - interval '60 days' where run_id::text < '2' returning 1"
    await maintenance_rows(engine, old)
    await engine.set_retention(Retention(run_days=30))
    assert (await engine.run_retention(dry_run=True)).runs == 2
    purged = await engine.run_retention(batch=1)
    assert (purged.runs, purged.traces) == (2, 0)
    assert [r.run_id[0] for r in await engine.eval_runs()] == ["2"]
    assert await maintenance_rows(engine, "select count(*) from veraz.eval_query") == [(3,)]
