"""The failures of a judged folder, clustered by the stages that caused them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.diagnosis.planting import configured, own_tenant
from tests.support.corpus import put, record

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.evaluation.suites.judgements import text_hash

CROWD = 14


def folder(place: Path, queries: dict[str, str], judged: list[tuple[str, str, int]]) -> Path:
    lines = [msgspec.json.encode({"_id": key, "text": text}) for key, text in queries.items()]
    (place / "queries.jsonl").write_bytes(b"\n".join(lines))
    rows = "".join(f"{query}\t{name}\t{grade}\n" for query, name, grade in judged)
    (place / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows, encoding="utf-8")
    return place


@pytest.fixture
async def judged(field: AsyncVeraz, tmp_path: Path) -> tuple[AsyncVeraz, Path]:
    """One question that is answered, six that are behind a crowd, one deleted document and two that never came."""
    engine = await own_tenant(field)
    crowd = [record(f"crowd-{n}", f"zinc zinc zinc note{n}") for n in range(CROWD)]
    behind = [
        record(f"behind-{n}", f"zinc among many other words like alpha{n} beta{n} gamma{n}") for n in range(6)
    ]
    await put(
        engine, *crowd, *behind, record("gone", "The osmium rule."), record("fine", "The iridium rule.")
    )
    await engine.delete("gone", source="s")
    queries = {"good": "iridium rule", "deep": "zinc", "gone": "osmium rule", "absent": "platinum"}
    rows = [("good", "fine", 2), ("deep", "crowd-0", 0), *(("deep", f"behind-{n}", 1) for n in range(6))]
    rows += [("gone", "gone", 1), ("absent", "nowhere", 1), ("absent", "neither", 3)]
    return engine, folder(tmp_path, queries, rows)


async def test_failures_are_clustered(judged: tuple[AsyncVeraz, Path]) -> None:
    engine, place = judged
    seen: list[tuple[int, int]] = []
    found = await engine.diagnose_suite(place, source="s", mode="lexical", progress=lambda *p: seen.append(p))
    assert (found.queries, found.judged, found.missed) == (4, 10, 9)
    counts = {c.stage: c.count for c in found.clusters}
    assert counts == {"cut_by_k": 6, "never_ingested": 2, "deleted": 1}
    assert found.clusters[0].stage == "cut_by_k"
    assert found.clusters[0].examples[0] == ("deep", "behind-0")
    assert found.remedy == "-k 20"
    assert found.mended == 6
    assert {f.diagnosis.expect: f.grade for f in found.failures}["neither"] == 3
    assert seen[-1] == (9, 9)


async def test_a_suite_without_failures_has_no_cluster(field: AsyncVeraz, tmp_path: Path) -> None:
    engine = await own_tenant(field)
    await put(engine, record("fine", "The iridium rule."))
    place = folder(tmp_path, {"good": "iridium rule"}, [("good", "fine", 1)])
    found = await engine.diagnose_suite(place, source="s")
    assert (found.missed, found.clusters, found.remedy) == (0, (), None)


async def test_a_stored_run_says_what_was_found(judged: tuple[AsyncVeraz, Path], tmp_path: Path) -> None:
    engine, place = judged
    out = tmp_path / "run"
    await engine.evaluate(place, source="s", modes=("lexical",), out=out)
    by_run = await engine.diagnose_suite(place, run=out, source="s", mode="lexical")
    by_search = await engine.diagnose_suite(place, source="s", mode="lexical")
    assert by_run.failures == by_search.failures
    alone = await engine.diagnose_suite(run=out / "per_query.jsonl", source="s", mode="lexical")
    assert {f.diagnosis.expect for f in alone.failures} == {f"behind-{n}" for n in range(6)}
    assert alone.warnings


async def test_most_bounds_what_is_followed(judged: tuple[AsyncVeraz, Path]) -> None:
    engine, place = judged
    found = await engine.diagnose_suite(place, source="s", mode="lexical", most=3)
    assert (found.missed, len(found.failures)) == (9, 3)
    assert "3 of 9" in found.warnings[0]


async def test_a_folder_with_a_corpus_has_a_tenant_of_its_own(field: AsyncVeraz, tmp_path: Path) -> None:
    engine = configured(await own_tenant(field), search={"pool": 5})
    place = folder(tmp_path, {"q": "zinc"}, [("q", "last", 1)])
    lines = [{"_id": f"d{n}", "title": "", "text": f"zinc zinc {n}"} for n in range(12)]
    lines.append({"_id": "last", "title": "", "text": "zinc " + " ".join(f"word{n}" for n in range(30))})
    (place / "corpus.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    found = await engine.diagnose_suite(place, mode="lexical")
    assert [(c.stage, c.count) for c in found.clusters] == [("not_in_lexical_pool", 1)]


async def test_a_suite_is_asked_as_an_evaluation_asks_it(field: AsyncVeraz, tmp_path: Path) -> None:
    """In the tenant of each query and in the sources that the suite is about: what is missed here is missed there."""
    engine = await own_tenant(field)
    clinic = await engine.ensure_tenant(f"{(await engine.identity()).tenant}-clinic")
    await put(engine, record("rule", "The iridium rule of the handbook."))
    await put(engine, *(record(f"n{n}", "iridium iridium rule") for n in range(12)), source="noise")
    await put(engine, record("local", "The osmium rule of the clinic."), identity=clinic)
    place = tmp_path / "suite"
    place.mkdir()
    (place / "suite.toml").write_text('name = "rules"\nversion = "1"\nsources = ["s"]\nsplits = ["open"]\n')
    queries = [
        {"id": "own", "text": "iridium rule"},
        {"id": "theirs", "text": "osmium rule", "tenant": clinic.tenant},
    ]
    (place / "queries.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, queries)))
    spans = [
        ("own", "rule", "The iridium rule of the handbook."),
        ("theirs", "local", "The osmium rule of the clinic."),
    ]
    rows = [
        {"query_id": query, "external_id": name, "start": 0, "end": len(text), "sha256": text_hash(text), "grade": 2}
        for query, name, text in spans
    ]  # fmt: skip
    (place / "judgements.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    report = (await engine.evaluate(place, modes=("lexical",)))[0]
    assert {r.query_id: r.measures["success@5"] for r in report.results} == {"own": 1, "theirs": 1}
    found = await engine.diagnose_suite(place, mode="lexical", k=3)
    assert (found.queries, found.missed) == (2, 0)


async def test_each_query_of_a_suite_is_diagnosed_with_its_own_roles(
    field: AsyncVeraz, tmp_path: Path
) -> None:
    engine = await own_tenant(field)
    await put(engine, record("pay", "The iridium allowance is paid in May.", acl=["hr"]))
    place = tmp_path / "suite"
    place.mkdir()
    (place / "suite.toml").write_text('name = "pay"\nversion = "1"\nsources = ["s"]\nsplits = ["open"]\n')
    queries = [
        {"id": "hr", "text": "iridium allowance", "roles": ["hr"]},
        {"id": "nobody", "text": "iridium allowance", "roles": ["other"]},
        {"id": "all", "text": "iridium allowance"},
    ]
    (place / "queries.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, queries)))
    text = "The iridium allowance is paid in May."
    rows = [
        {
            "query_id": q["id"],
            "external_id": "pay",
            "start": 0,
            "end": len(text),
            "sha256": text_hash(text),
            "grade": 2,
        }
        for q in queries
    ]
    (place / "judgements.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    found = await engine.diagnose_suite(place, mode="lexical")
    assert {f.query_id: f.diagnosis.stage for f in found.failures} == {
        "nobody": "not_permitted",
        "all": "not_permitted",
    }


async def test_something_must_say_what_was_expected(field: AsyncVeraz) -> None:
    with pytest.raises(UsageError, match="nothing says what was expected"):
        await (await own_tenant(field)).diagnose_suite()
