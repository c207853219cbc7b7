"""A whole sweep over a bench made of tables: what is asked how often, what is kept, who chooses."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest

from veraz.config import Config, SearchConfig, load
from veraz.errors import UsageError
from veraz.evaluation.dataset import Dataset
from veraz.evaluation.sweeps.grid import parse_grid
from veraz.evaluation.sweeps.kept import FOLDER
from veraz.evaluation.sweeps.outcome import sweep_json, table_lines, write_outcome
from veraz.evaluation.sweeps.pipeline import Loading, Plan, Rerankers, SweepSet, sweep
from veraz.ingest.chunkers import spelled_out
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.evidence import Candidate
from veraz.nouns.suite import QueryRequest
from veraz.nouns.sweep import ArmSetting, Asked, Corpus, IndexSetting, Owner, Setting, SweepReport
from veraz.sweeping import configured

BASE = configured(Config())
SPACE = UUID(int=5)
DOCUMENTS = 40


def dataset(name: str, queries: int = 20) -> Dataset:
    return Dataset(
        name=name,
        queries={f"{name}{n}": f"question {n} of {name}" for n in range(queries)},
        qrels={f"{name}{n}": {f"d{n}": 1} for n in range(queries)},
        corpus_path=Path(f"{name}.jsonl"),
        fingerprint=f"{name}-print",
    )


@dataclass
class Table:
    """Each question has one right document. Each arm alone has it far below; fused, its place depends on the weight: first at
    0.5, lower the farther the weight is from it, so that a sweep over weights has something to find."""

    loaded: list[tuple[str, IndexSetting]] = field(default_factory=list)
    asked: list[tuple[str, ArmSetting, str]] = field(default_factory=list)
    die_after: int | None = None
    semantic_at: int = 24
    lexical_at: int = 30
    corpus: int = 0

    async def load(self, of: SweepSet, index: IndexSetting, loading: Loading) -> Corpus:
        loading(of.name, 1, 1)
        self.loaded.append((of.name, index))
        return Corpus(f"{of.name}-{index.chunk_tokens}", None, "state", DOCUMENTS, index != BASE.index)

    async def ask(self, corpus: Corpus, arm: ArmSetting, question: str, known: Mapping[UUID, Owner]) -> Asked:
        if self.die_after is not None and len(self.asked) >= self.die_after:
            raise KeyboardInterrupt
        self.asked.append((corpus.tenant, arm, question))
        right = int(question.split()[1])
        places = [n for n in range(DOCUMENTS) if n != right]
        places.insert(self.semantic_at if arm.arm == "semantic" else self.lexical_at, right)
        ids = [uuid5(SPACE, f"{corpus.tenant} {n} {self.corpus}") for n in places]
        candidates = tuple(Candidate(key, 1.0 - i / 100, 3, None) for i, key in enumerate(ids[: arm.pool]))
        owners = {
            key: Owner(f"d{n}", uuid5(SPACE, str(n)), b"%d" % n) for key, n in zip(ids, places, strict=True)
        }
        return Asked(candidates, {k: o for k, o in owners.items() if k not in known}, 2.0)

    def rank(
        self,
        arms: Mapping[str, Sequence[Candidate]],
        owners: Mapping[UUID, Owner],
        setting: Setting,
        *,
        deepened: bool,
    ) -> tuple[tuple[RankedItem, ...], bool]:
        [*_, candidates] = arms.values()  # the semantic arm's, where there are two
        documents = [owners[c.chunk_id].external_id for c in candidates]
        if setting.semantic_weight is not None and len(documents) > self.semantic_at:
            right = documents.pop(self.semantic_at)
            documents.insert(round(20 * abs(setting.semantic_weight - 0.5)), right)
        deeper = setting.pool == 7 and not deepened
        return tuple(RankedItem(d, -float(n)) for n, d in enumerate(documents)), deeper


async def swept(out: Path, bench: Table, content: dict[str, Any], *names: str, **changes: Any) -> SweepReport:
    rerankers: Rerankers = changes.pop("rerankers", {"none": None})
    sets = changes.pop("sets", None) or tuple(SweepSet(dataset(name)) for name in names or ("a", "b"))
    plan = Plan(sets, parse_grid(content, "g", tuple(rerankers)), BASE, **changes)
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    return await sweep(
        plan, bench, out, with_options=spelled_out, rerankers=rerankers, space="e5", version="1"
    )


WEIGHTS = {"search": {"semantic_weight": [0.4, 0.5, 0.6, 0.7]}}


async def test_the_best_weight_is_found_and_holds(tmp_path: Path) -> None:
    report = await swept(tmp_path, Table(), WEIGHTS)
    assert report.chosen.name == "semantic_weight 0.5"
    assert report.choice.why == "better"
    assert report.chosen.means["ndcg@10"] == pytest.approx(1)
    assert report.chosen.beats < 0.01
    assert report.held_out.mean == pytest.approx(1)
    assert report.held_out.optimism == pytest.approx(0)
    assert (report.held_out.agree, report.held_out.holds) == (5, True)
    assert report.choice.gate is not None
    assert report.choice.gate.arm == "semantic"
    assert [m.name for m in report.measured if m.setting.mode != "hybrid"] == [
        "mode lexical",
        "mode semantic",
    ]
    assert report.current.name == "current"


async def test_each_arm_is_asked_once_a_question_however_many_fusions(tmp_path: Path) -> None:
    bench = Table()
    grid = {
        "search": {
            "semantic_weight": [n / 50 for n in range(50)],
            "fusion": ["minmax", "rrf"],
            "pool": [20, 30],
        }
    }
    report = await swept(tmp_path, bench, grid)
    assert len(report.measured) > 200
    ways = {(tenant, arm) for tenant, arm, _ in bench.asked}
    assert len(ways) == 2 * 2 * (2 + 1)  # two sets, two arms, pools of 20, 30 and the configured 100
    assert len(bench.asked) == len(set(bench.asked)) == len(ways) * 20
    assert report.work["arms asked"] == len(bench.asked)


async def test_each_way_of_cutting_is_loaded_once_before_anything_is_asked(tmp_path: Path) -> None:
    bench = Table()
    grid = {"ingest": {"chunk_tokens": [256, 512]}, "search": {"semantic_weight": [0.5, 0.6]}}
    report = await swept(tmp_path, bench, grid)
    assert [(name, index.chunk_tokens) for name, index in bench.loaded] == [
        ("a", 512),
        ("a", 256),
        ("b", 512),
        ("b", 256),
    ]
    assert {tenant for tenant, *_ in bench.asked} == {"a-512", "b-512", "a-256", "b-256"}
    assert [of.made for of in report.sets] == [("a-256",), ("b-256",)]


async def test_it_goes_on_after_a_kill_and_ends_the_same(tmp_path: Path) -> None:
    whole = await swept(tmp_path / "whole", Table(), WEIGHTS)
    killed = Table(die_after=33)
    with pytest.raises(KeyboardInterrupt):
        await swept(tmp_path / "killed", killed, WEIGHTS)
    bench = Table()
    again = await swept(tmp_path / "killed", bench, WEIGHTS)
    again_asked = again.work["arms asked"]
    assert again_asked == 80 - 33
    assert again.work["arms kept"] == 33
    assert len(bench.asked) - again_asked <= 2 * 3  # witnesses
    assert again.measured == whole.measured
    assert (again.choice, again.held_out) == (whole.choice, whole.held_out)
    third = Table()
    await swept(tmp_path / "killed", third, {"search": {"semantic_weight": [0.1, 0.2, 0.3]}})
    assert len(third.asked) == 4 * 3  # another grid over the same arms: witnesses alone


async def test_documents_that_changed_are_noticed(tmp_path: Path) -> None:
    await swept(tmp_path, Table(), WEIGHTS)
    bench = Table(corpus=1)
    report = await swept(tmp_path, bench, WEIGHTS)
    assert report.work["arms asked"] == 80
    assert any("documents changed since" in warning for warning in report.warnings)


async def test_arms_are_asked_deeper_where_search_would(tmp_path: Path) -> None:
    bench = Table()
    await swept(tmp_path, bench, {"search": {"pool": [7]}})
    deep = [(tenant, arm.pool, q) for tenant, arm, q in bench.asked if arm.deeper]
    assert len(deep) == 2 * 2 * 20
    assert {pool for _, pool, _ in deep} == {7}


async def test_a_reranker_is_a_name_and_a_function(tmp_path: Path) -> None:
    seen: list[str] = []

    async def oracle(
        question: str, ranked: tuple[RankedItem, ...], corpus: Corpus, setting: Setting
    ) -> tuple[RankedItem, ...]:
        assert setting.reranker == "oracle"
        seen.append(corpus.tenant)
        right = f"d{question.split()[1]}"
        return tuple(sorted(ranked, key=lambda item: item.docid != right))

    grid = {"search": {"reranker": ["none", "oracle"]}}
    report = await swept(tmp_path, Table(), grid, rerankers={"none": None, "oracle": oracle})
    found = {m.name: m.means["ndcg@10"] for m in report.measured}
    assert found["reranker oracle"] == pytest.approx(1)
    assert found["current"] < 0.9
    assert set(seen) == {"a-512", "b-512"}


async def test_private_queries_choose_nothing_and_are_reported(tmp_path: Path) -> None:
    private = {f"a{n}" for n in range(6)}
    whole = dataset("a")
    shown = replace(
        whole, queries={q: t for q, t in whole.queries.items() if q not in private},
        qrels={q: g for q, g in whole.qrels.items() if q not in private},
    )  # fmt: skip
    # of the private queries nothing is right: were they counted, means would fall
    hidden = replace(
        whole,
        qrels={q: ({"none": 1} if q in private else g) for q, g in whole.qrels.items()},
        requests={q: QueryRequest(q, whole.queries[q], split="private") for q in private},
    )
    with_private = await swept(tmp_path / "p", Table(), WEIGHTS, sets=(SweepSet(hidden),))
    without = await swept(tmp_path / "o", Table(), WEIGHTS, sets=(SweepSet(shown),))
    assert with_private.choice == without.choice
    assert [m.means for m in with_private.measured] == [m.means for m in without.measured]
    assert with_private.private["chosen"]["ndcg@10"] == 0
    assert without.private == {}
    assert (with_private.sets[0].queries, with_private.sets[0].choosing) == (20, 14)


async def test_configurations_that_rank_alike_are_said_to(tmp_path: Path) -> None:
    report = await swept(tmp_path, Table(), {"search": {"ef_search": [40, 200, SearchConfig().ef_search]}})
    assert [m.same_as for m in report.measured if m.setting.mode == "hybrid"] == [None, 0, 0]


async def test_what_cannot_be_swept_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    bench = Table()
    with pytest.raises(UsageError, match="too few for 30 folds"):
        await swept(tmp_path, bench, WEIGHTS, folds=30)
    with pytest.raises(UsageError, match="ndcg@11"):
        await swept(tmp_path, bench, WEIGHTS, measure="ndcg@11")
    with pytest.raises(UsageError, match="two sets are called a"):
        await swept(tmp_path, bench, WEIGHTS, "a", "a")
    ingested = SweepSet(dataset("a"), source="s")
    grid = {"ingest": {"chunk_tokens": [256], "overlap": [1]}}
    with pytest.raises(
        UsageError, match="varies chunk_tokens, overlap, but a is evaluated as it is ingested"
    ):
        await swept(tmp_path, bench, grid, sets=(ingested,))
    assert bench.loaded == []


# What it leaves behind


async def test_the_lines_are_a_configuration_with_the_evidence_beside_them(tmp_path: Path) -> None:
    report = await swept(tmp_path, Table(), WEIGHTS)
    report = write_outcome(report, BASE, tmp_path)
    text = (tmp_path / "veraz.toml").read_text(encoding="utf-8")
    assert load(tmp_path / "veraz.toml", {}).search.semantic_weight == 0.5
    assert "semantic_weight = 0.5  # was 0.6" in text
    assert text.count("# was") == 1
    for said in (
        "Held out (5 folds, seed",
        "20 queries",
        "It holds.",
        report.started_at,
        "passed",
        "Tried semantic_weight",
    ):
        assert said in text, said
    figures = json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))
    assert figures == sweep_json(report)
    assert len(figures["measured"]) == len(report.measured)
    assert figures["measured"][0]["values"]["semantic_weight"] == 0.6
    table = list(table_lines(report))
    assert (
        sum(line.startswith("| ") for line in table) == len(report.measured) + len(report.held_out.folds) + 2
    )
    assert any(line.startswith("| **semantic_weight 0.5** | 1.0000 |") for line in table)


async def test_an_arm_alone_is_written_as_the_weight_that_orders_by_it(tmp_path: Path) -> None:
    report = await swept(tmp_path, Table(semantic_at=0), {"search": {"semantic_weight": [0.7]}})
    assert report.choice.why == "arm"
    write_outcome(report, BASE, tmp_path)
    config = load(tmp_path / "veraz.toml", {})
    assert (config.search.fusion, config.search.semantic_weight) == ("minmax", 1.0)
    assert "--mode semantic" in (tmp_path / "veraz.toml").read_text(encoding="utf-8")


async def test_options_of_chunkers_are_written_so_that_they_can_be_read(tmp_path: Path) -> None:
    grid = {"ingest": {"chunker": ["fixed"], "size": [100]}, "search": {"semantic_weight": [0.5]}}
    report = await swept(tmp_path, Table(), grid)
    assert report.chosen.setting.index.chunker == "fixed:size=100,overlap=32"
    write_outcome(report, BASE, tmp_path)
    stored = tomllib.loads((tmp_path / "veraz.toml").read_text(encoding="utf-8"))
    assert stored["ingest"]["chunker"] == "fixed:size=100,overlap=32"
    assert load(tmp_path / "veraz.toml", {}).ingest.chunker == "fixed:size=100,overlap=32"
