"""A sweep on a database: corpora cut in several ways, nothing embedded twice, figures that an evaluation gives too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import databases
from tests.support.hashing import HashingEmbedder, TokenHashing
from tests.support.reranking import failing
from tests.support.swept import judged_set

from veraz.config import IngestConfig, RerankConfig, SearchConfig, load
from veraz.engine import AsyncVeraz
from veraz.errors import ProviderError, UsageError
from veraz.providers.rerankers.registry import OpenedReranker


def grid(folder: Path, text: str) -> Path:
    path = folder / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return path


SEARCHES = """
[search]
fusion = ["minmax", "rrf"]
semantic_weight = [0.3, 0.6, 0.9]
pool = [20, 100]
"""


async def test_its_figures_are_those_of_an_evaluation(engine: AsyncVeraz, tmp_path: Path) -> None:
    one = judged_set(tmp_path / "one", copies=5)
    two = judged_set(tmp_path / "two", documents=40, queries=10, seed=3)
    report = await engine.sweep([one, two], grid=grid(tmp_path, SEARCHES), out=tmp_path / "out")
    for mode, name in (("hybrid", "current"), ("lexical", "mode lexical"), ("semantic", "mode semantic")):
        measured = next(m for m in report.measured if m.name == name)
        for folder in (one, two):
            [run] = await engine.evaluate(folder, modes=(mode,))  # type: ignore[arg-type]
            for measure in ("ndcg@10", "recall@20", "mrr@10", "map"):
                assert measured.by_set[folder.name][measure] == pytest.approx(run.metrics[measure], abs=1e-12)
        both = sum(measured.by_set[f.name]["ndcg@10"] for f in (one, two)) / 2
        assert measured.means["ndcg@10"] == pytest.approx(both)


async def test_so_are_those_of_other_configurations(database: str, tmp_path: Path) -> None:
    one = judged_set(tmp_path / "one", copies=25)
    async with await databases.open_engine(database, HashingEmbedder()) as engine:
        report = await engine.sweep([one], grid=grid(tmp_path, SEARCHES), out=tmp_path / "out")
    searches = [
        SearchConfig(fusion="rrf", semantic_weight=0.3, pool=20),
        SearchConfig(semantic_weight=0.9, pool=20),
        SearchConfig(fusion="rrf", semantic_weight=0.9),
    ]
    for search in searches:
        async with await databases.open_engine(database, HashingEmbedder(), search=search) as engine:
            [run] = await engine.evaluate(one)
        [measured] = [
            m
            for m in report.measured
            if m.setting.mode == "hybrid"
            and (m.setting.fusion, m.setting.semantic_weight, m.setting.pool)
            == (search.fusion, search.semantic_weight, search.pool)
        ]
        assert measured.means["ndcg@10"] == pytest.approx(run.metrics["ndcg@10"], abs=1e-12)
        assert measured.means["map"] == pytest.approx(run.metrics["map"], abs=1e-12)


CUTS = """
[ingest]
chunker = ["structure", "fixed"]
size = [60]
overlap = [0, 20]
chunk_tokens = [64, 512]
"""


async def test_ways_of_cutting_have_tenants_of_their_own_and_no_text_is_embedded_twice(
    database: str, embedder: HashingEmbedder, tmp_path: Path
) -> None:
    one = judged_set(tmp_path / "one", documents=12, queries=6)
    async with await databases.open_engine(database, embedder) as engine:
        await engine.evaluate(one)
        before = set(embedder.texts)
        report = await engine.sweep([one], grid=grid(tmp_path, CUTS), out=tmp_path / "out", folds=2)
        passages = [text for text in embedder.texts if not text.endswith(tuple("0123456789"))]
        assert len(passages) == len(
            set(passages)
        )  # not in the evaluation before, not in another way of cutting
        assert len(before) < len(set(embedder.texts))
        (of,) = report.sets
        indexes = {m.setting.index for m in report.measured}
        assert len(indexes) == len(of.tenants) == 6
        assert len(of.made) == 5
        chunks = {t.slug for t in await engine.tenants()}
        assert set(of.tenants) <= chunks

        embedder.calls.clear()
        again = await engine.sweep(
            [one], grid=grid(tmp_path, CUTS), out=tmp_path / "out", folds=2, remove_tenants=True
        )
        assert embedder.texts == []
        assert again.work.get("arms asked", 0) == 0
        assert again.measured == report.measured
        left = {t.slug for t in await engine.tenants()}
        assert not left & set(of.made)
        assert set(of.tenants) - set(of.made) <= left

        # the tenants are gone, the vectors are not
        await engine.sweep([one], grid=grid(tmp_path, CUTS), out=tmp_path / "out", folds=2)
        assert embedder.texts == []


async def test_an_ingested_source_of_another_tenant_is_swept_as_it_is(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    one = judged_set(tmp_path / "one")
    other = engine.acting_as(await engine.ensure_tenant("clinic"))
    await other.ingest([one / "corpus.jsonl"], source="notes")
    await other.ingest([judged_set(tmp_path / "two", seed=2) / "corpus.jsonl"], source="noise")
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("queries.jsonl", "qrels.tsv"):
        (bare / name).write_bytes((one / name).read_bytes())
    path = grid(tmp_path, "[search]\nsemantic_weight = [0.4]\n")
    report = await engine.sweep(
        [one, bare], grid=path, out=tmp_path / "out", sources=["notes"], tenants=["bare=clinic"]
    )
    assert [(of.name, of.source, of.tenants) for of in report.sets][1] == ("bare", "notes", ("clinic",))
    [run] = await other.evaluate(bare, source="notes")
    assert report.current.by_set["bare"]["ndcg@10"] == pytest.approx(run.metrics["ndcg@10"], abs=1e-12)
    with pytest.raises(UsageError, match="no source 'nots'"):
        await engine.sweep([bare], grid=path, out=tmp_path / "x", sources=["nots"], tenants=["clinic"])
    with pytest.raises(UsageError, match="no tenant 'clinc'"):
        await engine.sweep([bare], grid=path, out=tmp_path / "x", sources=["notes"], tenants=["clinc"])


async def test_documents_can_be_given_to_a_folder_without(engine: AsyncVeraz, tmp_path: Path) -> None:
    one = judged_set(tmp_path / "one", documents=12, queries=6)
    (one / "corpus.jsonl").rename(tmp_path / "documents.jsonl")
    path = grid(tmp_path, "[ingest]\nchunk_tokens = [64]\n")
    with pytest.raises(UsageError, match="give its documents with --corpus"):
        await engine.sweep([one], grid=path, out=tmp_path / "x", folds=2)
    report = await engine.sweep(
        [one], grid=path, out=tmp_path / "out", folds=2, corpora=[str(tmp_path / "documents.jsonl")]
    )
    assert {m.setting.index.chunk_tokens for m in report.measured} == {64, 512}
    assert report.sets[0].documents == 12


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sources": ["two=s", "two=t"]}, "given twice for two"),
        ({"sources": ["three=s"]}, "no set is called 'three'"),
        ({"qrels": ["some.tsv"]}, "could be of one, two"),
        ({"corpora": ["one="]}, "has no value"),
        ({"folds": 0}, "folds"),
    ],
)
async def test_what_is_stated_of_no_set_is_refused(
    engine: AsyncVeraz, tmp_path: Path, given: dict[str, object], said: str
) -> None:
    folders = [judged_set(tmp_path / name, documents=10, queries=5) for name in ("one", "two")]
    path = grid(tmp_path, "[search]\nsemantic_weight = [0.4]\n")
    with pytest.raises(UsageError, match=said):
        await engine.sweep(folders, grid=path, out=tmp_path / "out", **given)  # type: ignore[arg-type]


async def test_what_it_writes_is_a_configuration(database: str, tmp_path: Path) -> None:
    one = judged_set(tmp_path / "one")
    ingest = IngestConfig(isolated=False, chunker="fixed:size=80")
    async with await databases.open_engine(database, HashingEmbedder(), ingest=ingest) as engine:
        report = await engine.sweep([one], grid=grid(tmp_path, SEARCHES), out=tmp_path / "out")
    config = load(tmp_path / "out" / "veraz.toml", {})
    assert config.ingest.chunker == "fixed:size=80,overlap=32"
    figures = json.loads((tmp_path / "out" / "sweep.json").read_text(encoding="utf-8"))
    assert [m["name"] for m in figures["measured"]] == [m.name for m in report.measured]
    assert figures["sets"][0]["fingerprint"] == report.sets[0].fingerprint
    assert (tmp_path / "out" / "table.md").read_text(encoding="utf-8").startswith("# Sweep of one")
    kept = b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*.bin"))
    assert b"kidney" not in kept  # neither documents nor questions


async def test_a_reranker_is_an_axis_and_its_figures_are_those_of_an_evaluation(
    database: str, tmp_path: Path
) -> None:
    one = judged_set(tmp_path / "one", copies=5)
    axis = grid(tmp_path, '[search]\nreranker = ["none", "maxsim"]\n')
    alone = RerankConfig(options={"maxsim": {"weight": 1.0}})
    async with await databases.open_engine(
        database, TokenHashing(), search=SearchConfig(rerank_pool=10), rerank=alone
    ) as engine:
        report = await engine.sweep([one], grid=axis, out=tmp_path / "out")
        for mode, name in (
            ("hybrid", "reranker maxsim"),
            ("lexical", "mode lexical, reranker maxsim"),
            ("semantic", "mode semantic, reranker maxsim"),
        ):
            measured = next(m for m in report.measured if m.name == name)
            [run] = await engine.evaluate(one, modes=(mode,), rerank="maxsim")  # type: ignore[arg-type]
            [plain] = await engine.evaluate(one, modes=(mode,))  # type: ignore[arg-type]
            assert run.metrics["ndcg@10"] != plain.metrics["ndcg@10"]
            for measure in ("ndcg@10", "recall@20", "mrr@10", "map"):
                assert measured.by_set["one"][measure] == pytest.approx(run.metrics[measure], abs=1e-12)


async def test_a_reranker_that_fails_stops_the_sweep(database: str, tmp_path: Path) -> None:
    """Its figures would be the fused order's."""
    one = judged_set(tmp_path / "one", documents=10, queries=10)
    axis = grid(tmp_path, '[search]\nreranker = ["cohere"]\n')
    async with await databases.open_engine(database, TokenHashing()) as engine:
        engine._rerankers["cohere"] = OpenedReranker(failing(ProviderError("nobody is there")), 1.0)
        with pytest.raises(ProviderError, match="nobody is there"):
            await engine.sweep([one], grid=axis, out=tmp_path / "out")
