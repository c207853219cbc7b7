"""Grid files: what they may say, and the configurations that come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from veraz.config import Config, IngestConfig, SearchConfig
from veraz.errors import UsageError
from veraz.evaluation.sweeps.grid import expand, parse_grid, read_grid
from veraz.ingest.chunkers import spelled_out
from veraz.nouns.sweep import Setting
from veraz.sweeping import configured

BASE = configured(Config())


def settings(content: dict[str, Any], config: Config | None = None) -> tuple[Setting, ...]:
    return expand(parse_grid(content, "g.toml"), configured(config) if config else BASE, spelled_out)


def fused(content: dict[str, Any]) -> list[Setting]:
    return [s for s in settings(content) if s.mode == "hybrid"]


def test_every_combination_is_one_configuration_with_the_current_one_first() -> None:
    found = fused({"search": {"semantic_weight": [0.4, 0.5, 0.6], "pool": [50, 100]}})
    assert found[0] == BASE.setting
    assert {(s.semantic_weight, s.pool) for s in found} == {
        (w, p) for w in (0.4, 0.5, 0.6) for p in (50, 100)
    }
    assert len(found) == len(set(found)) == 6  # 0.6 with 100 is the current one


def test_a_key_without_effect_makes_no_second_configuration() -> None:
    assert len(fused({"search": {"fusion": ["minmax"], "rrf_k": [10, 20, 60]}})) == 1
    both = fused({"search": {"fusion": ["minmax", "rrf"], "rrf_k": [10, 20]}})
    assert [(s.fusion, s.rrf_k) for s in both] == [("minmax", None), ("rrf", 10), ("rrf", 20)]
    exact = fused({"search": {"exact": [True], "ef_search": [40, 80], "budget": [1, 2]}})
    assert [s.arms[0].exact for s in exact] == [False, True]


def test_the_arms_alone_are_there_once_for_each_way_of_asking_them() -> None:
    found = settings({"search": {"semantic_weight": [0.1, 0.2, 0.3], "pool": [50, 100]}})
    alone = [(s.mode, s.pool) for s in found if s.mode != "hybrid"]
    assert sorted(alone) == [("lexical", 50), ("lexical", 100), ("semantic", 50), ("semantic", 100)]
    for s in found:
        if s.mode == "hybrid":
            assert s.alone("lexical") in found
            assert s.alone("semantic") in found


def test_options_go_to_the_chunkers_that_take_them() -> None:
    found = fused(
        {"ingest": {"chunker": ["structure", "fixed", "recursive"], "size": [100, 200], "overlap": [0, 20]}}
    )
    assert [s.index.chunker for s in found] == [
        "structure",
        "fixed:size=100,overlap=0",
        "fixed:size=100,overlap=20",
        "fixed:size=200,overlap=0",
        "fixed:size=200,overlap=20",
        "recursive:size=100",
        "recursive:size=200",
    ]


def test_a_chunker_that_cannot_be_is_named() -> None:
    with pytest.raises(UsageError, match="never advances"):
        settings({"ingest": {"chunker": ["fixed"], "size": [10], "overlap": [10]}})
    with pytest.raises(UsageError, match="no chunker is called 'words'"):
        settings({"ingest": {"chunker": ["words"]}})


def test_what_is_configured_holds_where_the_grid_says_nothing() -> None:
    config = Config(
        ingest=IngestConfig(chunk_tokens=300, chunker="fixed:size=90"),
        search=SearchConfig(rrf_k=33, pool=70, budget=9_000),
    )
    found = settings({"search": {"fusion": ["rrf"]}}, config)
    rrf = next(s for s in found if s.fusion == "rrf")
    assert (rrf.rrf_k, rrf.pool, rrf.index.chunk_tokens) == (33, 70, 300)
    assert rrf.index.chunker == "fixed:size=90,overlap=32"
    assert rrf.lexical is not None
    assert rrf.lexical.budget == 9_000


def test_names_and_differences_say_what_one_would_change() -> None:
    base = configured(Config(search=SearchConfig(rrf_k=33)))
    found = expand(parse_grid({"search": {"fusion": ["rrf"], "rrf_k": [33, 10]}}, "g"), base, spelled_out)
    assert [base.name(s) for s in found if s.mode == "hybrid"] == [
        "current",
        "fusion rrf",
        "fusion rrf, rrf_k 10",
    ]
    assert base.name(base.setting.alone("lexical")) == "mode lexical"


@pytest.mark.parametrize(
    ("content", "said", "fix"),
    [
        ({"search": {"alpha": [0.5]}}, "unknown key 'alpha' in [search]", "did you mean 'semantic_weight'?"),
        ({"search": {"pol": [5]}}, "unknown key 'pol'", "did you mean 'pool'?"),
        ({"search": {"chunker": ["fixed"]}}, "unknown key 'chunker' in [search]", "belongs into [ingest]"),
        ({"serch": {"pool": [5]}}, "unknown section [serch]", "[ingest], [search]"),
        ({"pool": [5]}, "'pool' stands outside a section", "write [search]"),
        ({"search": {"fusion": ["borda"]}}, "fusion = 'borda'", "one of minmax, rrf"),
        ({"search": {"mode": ["both"]}}, "mode = 'both'", "hybrid, lexical, semantic"),
        ({"search": {"reranker": ["cohere"]}}, "reranker = 'cohere'", "one of none"),
        ({"search": {"semantic_weight": [0.5, 1.5]}}, "semantic_weight = 1.5", "configuration.md"),
        ({"search": {"pool": ["many"]}}, "pool = 'many'", "configuration.md"),
        ({"search": {"pool": [0]}}, "pool = 0", "configuration.md"),
        ({"search": {"exact": [1]}}, "exact = 1", "[false, true]"),
        ({"search": {"k": [0]}}, "k = 0", "k = "),
        ({"search": {"pool": []}}, "pool = []", "give it values"),
        ({"ingest": {"chunk_tokens": [8]}}, "chunk_tokens = 8", "configuration.md"),
        ({"ingest": {"overlap": [-1]}}, "overlap = -1", "overlap ="),
        ({}, "nothing to try", "semantic_weight = [0.4, 0.6]"),
    ],
)
def test_what_cannot_be_is_named_with_what_can(content: dict[str, Any], said: str, fix: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_grid(content, "g.toml")
    assert said in refused.value.what
    assert "g.toml" in refused.value.what
    assert fix in str(refused.value.fix)


def test_a_reranker_that_is_known_is_taken() -> None:
    grid = parse_grid({"search": {"reranker": ["none", "maxsim"]}}, "g", ("none", "maxsim"))
    assert [s.reranker for s in expand(grid, BASE, spelled_out) if s.mode == "hybrid"] == ["none", "maxsim"]


def test_too_many_are_refused() -> None:
    weights = [n / 1000 for n in range(1000)]
    with pytest.raises(UsageError, match="more than 20,000"):
        settings({"search": {"semantic_weight": weights, "pool": list(range(10, 40))}})


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "weights.toml"
    path.write_text("[search]\nsemantic_weight = [0.4, 0.6, 0.4]\npool = 50\n", encoding="utf-8")
    grid = read_grid(path)
    assert grid.name == "weights"
    assert grid.axes == {"semantic_weight": (0.4, 0.6), "pool": (50,)}
    assert not grid.cuts
    path.write_text("[search\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"weights\.toml"):
        read_grid(path)
    with pytest.raises(UsageError, match="no such grid file"):
        read_grid(tmp_path / "absent.toml")
