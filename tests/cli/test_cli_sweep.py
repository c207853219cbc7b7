"""`veraz eval sweep` on a real server, with an embedder made of hashes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, document
from tests.db.server_fixture import test_home
from tests.support.hashing import HashingEmbedder
from tests.support.swept import judged_set

from veraz.cli import session
from veraz.engine import AsyncVeraz


@pytest.fixture
def veraz(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    async def opened(config: Any, bars: Any) -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, report=bars.say, embedder=HashingEmbedder())

    monkeypatch.setattr(session, "open_engine", opened)
    monkeypatch.setenv("VERAZ_HOME", str(test_home()))
    monkeypatch.setenv("VERAZ_DATABASE_URL", database)
    monkeypatch.setenv("VERAZ_INGEST_ISOLATED", "false")
    return run


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "weights.toml"
    path.write_text("[search]\nsemantic_weight = [0.3, 0.6]\npool = [50, 100]\n", encoding="utf-8")
    return path


def test_what_it_prints_and_writes(veraz: Run, tmp_path: Path, grid: Path) -> None:
    one, two = (str(judged_set(tmp_path / name, documents=20, queries=6)) for name in ("one", "two"))
    shown = veraz("eval", "sweep", one, two, "--grid", str(grid), "--folds", "3")
    assert shown.exit_code == 0, shown.output
    for said in (
        "Each set weighs the same.",
        "Gate, all queries",
        "Held out (3 folds",
        "wrote sweeps/weights",
    ):
        assert said in shown.stdout, said
    marked = [line.split() for line in shown.stdout.splitlines() if line.startswith("chosen ")]
    assert [words[:2] for words in marked] == [["chosen", "mode"]]
    assert {p.name for p in (tmp_path / "sweeps" / "weights").iterdir()} >= {
        "veraz.toml",
        "table.md",
        "sweep.json",
    }
    arguments = ("eval", "sweep", one, two, "--grid", str(grid), "--folds", "3", "--json", "--out", "again")
    printed = document(veraz(*arguments))
    assert len(printed["measured"]) == 4 + 2 * 2
    assert [of["name"] for of in printed["sets"]] == ["one", "two"]
    assert {m["values"]["pool"] for m in printed["measured"]} == {50, 100}
    assert printed["out"] == "again"


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("[search]\nalpha = [0.3]\n", (), "unknown key 'alpha' in [search]"),
        ("[search]\npool = [50]\n", ("--folds", "20"), "too few for 20 folds"),
        ("[search]\npool = [50]\n", ("--measure", "f1"), "'f1' is not taken here"),
        ("[search]\npool = [50]\n", ("--source", "nope"), "has no source 'nope'"),
        ("[search]\npool = [50]\n", ("--in-tenant", "nope"), "no tenant 'nope'"),
        ("[search]\npool = [50]\n", ("--qrels", "other=x.tsv"), "x.tsv"),
    ],
)
def test_what_cannot_be_swept_is_wrong_usage(
    veraz: Run, tmp_path: Path, grid: Path, content: str, options: tuple[str, ...], said: str
) -> None:
    grid.write_text(content, encoding="utf-8")
    one = str(judged_set(tmp_path / "one", documents=20, queries=6))
    refused = veraz("eval", "sweep", one, "--grid", str(grid), *options)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert "fix:" in refused.stderr


def test_a_sweep_needs_a_grid_and_a_set(veraz: Run, tmp_path: Path, grid: Path) -> None:
    assert veraz("eval", "sweep", "--grid", str(grid)).exit_code == 2
    assert veraz("eval", "sweep", str(tmp_path)).exit_code == 2
    absent = veraz("eval", "sweep", str(tmp_path / "none"), "--grid", str(grid))
    assert absent.exit_code == 2
    assert "no such folder" in absent.stderr
