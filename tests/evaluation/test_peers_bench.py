"""The arithmetic, the protocol and the report of bench/against_peers.py, without any peer installed."""

from __future__ import annotations

import importlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def peers() -> Iterator[Any]:
    """The modules of bench/peers, by name."""
    sys.path.insert(0, str(BENCH))
    try:

        class Modules:
            def __getattr__(self, name: str) -> ModuleType:
                return importlib.import_module(f"peers.{name}")

        yield Modules()
    finally:
        sys.path.remove(str(BENCH))


def test_a_document_stands_where_its_best_chunk_stands(peers: Any) -> None:
    assert peers.arithmetic.documents(["b#2", "a#0", "b#0", "a#1", "c#7"]) == ["b", "a", "c"]
    # ids may hold the separator themselves; Veraz names a copy without its chunk
    assert peers.arithmetic.documents(["x#1#0", "x#1#3", "y#"]) == ["x#1", "y"]
    assert peers.arithmetic.documents([]) == []


def test_a_ratio_is_of_percentiles_and_its_interval_holds_it(peers: Any) -> None:
    base = np.random.default_rng(5).gamma(4.0, 2.0, size=(40, 5))
    found = peers.arithmetic.ratio(3 * base, base, 50)
    assert (found.value, found.low, found.high) == pytest.approx((3.0, 3.0, 3.0)), "paired: drawn alike"
    noisy = 1.5 * np.random.default_rng(6).gamma(4.0, 2.0, size=(40, 5))
    found = peers.arithmetic.ratio(noisy, base, 95)
    assert found.value == pytest.approx(np.percentile(noisy, 95) / np.percentile(base, 95))
    assert found.low < found.value < found.high
    assert peers.arithmetic.ratio(noisy, base, 95) == found, "seeded"


def test_rounds_of_one_question_are_not_many_questions(peers: Any) -> None:
    random = np.random.default_rng(7)
    base, times = random.gamma(2.0, size=(12, 1)), random.gamma(2.0, size=(12, 1))
    once = peers.arithmetic.ratio(times, base, 50)
    often = peers.arithmetic.ratio(np.repeat(times, 30, axis=1), np.repeat(base, 30, axis=1), 50)
    assert often.high - often.low > 0.8 * (once.high - once.low), "repeating proves nothing"


def test_a_ratio_wants_the_same_questions(peers: Any) -> None:
    with pytest.raises(ValueError, match="not the same questions"):
        peers.arithmetic.ratio(np.ones((3, 2)), np.ones((4, 2)), 50)


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(1.01, 2.0, "slower"), (0.5, 0.99, "faster"), (0.9, 1.1, "open")]
)
def test_a_verdict_needs_the_whole_interval(peers: Any, low: float, high: float, verdict: str) -> None:
    assert peers.arithmetic.Ratio(1.0, low, high).verdict == verdict


def test_each_peer_begins_as_often_as_any_other(peers: Any) -> None:
    names = ["a", "b", "c"]
    orders = [peers.arithmetic.turns(names, number) for number in range(6)]
    assert [order[0] for order in orders] == ["a", "b", "c"] * 2
    assert all(sorted(order) == names for order in orders)


def test_a_worker_answers_every_line_and_outlives_a_failure(peers: Any, tmp_path: Path) -> None:
    (tmp_path / "chunks.jsonl").write_text('{"id": "d#0", "text": "one"}\n', encoding="utf-8")
    np.save(tmp_path / "vectors.npy", np.ones((1, 2), np.float32))

    class Fake:
        packages = ()

        def load(self, chunks: Sequence[Any], vectors: np.ndarray) -> None:
            self.known = [chunk.id for chunk in chunks]
            assert vectors.shape == (1, 2)

        def search(self, question: str, vector: list[float], k: int) -> list[str]:
            if question == "broken":
                raise RuntimeError("no such index")
            return self.known[:k] if vector == [0.5, 0.5] else []

        def size(self) -> int | None:
            return 7

    asked = [
        {"do": "load", "folder": str(tmp_path)},
        {"do": "search", "question": "broken", "vector": [0.5, 0.5], "k": 1},
        {"do": "search", "question": "q", "vector": [0.5, 0.5], "k": 1},
    ]
    lines = io.StringIO("".join(json.dumps(one) + "\n" for one in asked))
    loaded, broken, found = peers.worker.answers(Fake(), lines)
    assert loaded["bytes"] == 7
    assert loaded["seconds"] >= 0
    assert broken == {"error": "RuntimeError: no such index"}
    assert found["ids"] == ["d#0"]
    assert found["ms"] >= 0


def test_a_peer_whose_process_cannot_begin_says_why(peers: Any, tmp_path: Path) -> None:
    entry = replace(peers.catalogue.ENTRIES[8], adapter="nobody")
    with pytest.raises(peers.running.PeerError, match=r"ModuleNotFoundError: No module named .*nobody"):
        peers.running.Process(Path(sys.executable), entry, "", tmp_path / "nobody", tmp_path / "log")
    assert "Traceback" in (tmp_path / "log").read_text("utf-8")


def test_a_failed_installation_is_told_and_tried_again(
    peers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [1, 0]

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[-2:] == ["-r", str(peers.running.REQUIREMENTS)]
        return subprocess.CompletedProcess(command, ends.pop(0), "", "much\nERROR: no index is reached\n")

    monkeypatch.setattr(peers.running.subprocess, "run", run)
    monkeypatch.setattr(peers.running.venv, "create", lambda folder, **_: folder.mkdir(exist_ok=True))
    with pytest.raises(peers.running.PeerError, match="could not be installed: ERROR: no index is reached"):
        peers.running.environment(tmp_path)
    python = peers.running.environment(tmp_path)
    assert peers.running.environment(tmp_path) == python, "installed once"
    assert python.parent.parent.parent == tmp_path
    assert not ends


def test_every_entry_has_its_adapter_and_its_settings(peers: Any) -> None:
    entries = peers.catalogue.ENTRIES
    assert entries[0].name == peers.catalogue.BASE
    assert len({entry.name for entry in entries}) == len(entries)
    for entry in entries:
        source = (BENCH / "peers" / "adapters" / f"{entry.adapter}.py").read_text("utf-8")
        assert re.search(r"^class Peer\b", source, re.M)
        assert entry.settings
        assert entry.licence
        assert entry.name == peers.catalogue.BASE or (entry.faster and entry.better)


def test_what_a_peer_needs_is_pinned(peers: Any) -> None:
    lines = peers.running.REQUIREMENTS.read_text("utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted
    assert all(re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", line) for line in wanted)


def test_every_judged_document_is_kept_and_others_up_to_the_number(peers: Any, tmp_path: Path) -> None:
    path, into = tmp_path / "corpus.jsonl", tmp_path / "documents.jsonl"
    path.write_text(
        "".join(json.dumps({"id": str(n), "text": f"t{n}", "lang": "xx"}) + "\n" for n in range(10)), "utf-8"
    )
    assert peers.corpora.write_documents(path, into, {"3", "9"}, 4) == (4, 10)
    records = [json.loads(line) for line in into.read_text("utf-8").splitlines()]
    assert [record["id"] for record in records] == ["0", "1", "3", "9"]
    assert records[2] == {"id": "3", "title": "", "text": "t3"}, "nothing but what everybody is given"
    assert peers.corpora.write_documents(path, into, {"3", "9"}, 1) == (2, 10)
    assert peers.corpora.write_documents(path, into, {"3", "9"}, None) == (10, 10)


# --- the report


QRELS = {f"q{n}": {f"d{n}": 1} for n in range(8)}


def made(peers: Any, names: dict[str, tuple[float, int]], load: float = 0.1) -> Any:
    """An outcome: name → how many times as slow, and at which place its relevant document stands. 0: nowhere."""
    base = np.random.default_rng(1).gamma(5.0, size=(8, 4))
    measured = []
    for entry in peers.catalogue.ENTRIES:
        if entry.name not in names:
            continue
        slow, place = names[entry.name]
        one = peers.running.Measured(entry, versions={"p": "1"}, build_seconds=2.0, bytes=3_000_000)
        for number, query_id in enumerate(QRELS):
            others = [f"x{n}" for n in range(12)]
            at = [*others[: place - 1], f"d{number}", *others[place - 1 :]] if place else others
            one.rankings[query_id] = at
        one.times = base * slow
        measured.append(one)
    corpus = peers.corpora.Corpus("<made>", Path("nowhere"), 20, 50, 30, dict.fromkeys(QRELS, "?"), {}, QRELS)
    around = {
        "load": load, "cores": 2, "postgresql": "18", "pgvector": "0.8", "python": "3", "server": {"jit": "on"}, "at": "",
    }  # fmt: skip
    return peers.report.outcome(corpus, measured, around, k=10, rounds=4)


def test_the_report_says_where_veraz_loses_and_why(peers: Any) -> None:
    found = made(peers, {"veraz": (1, 2), "txtai": (0.5, 1), "LanceDB": (2, 5)})
    told = peers.report.markdown([found])
    assert "At least as good and at least as fast: txtai." in told
    assert (
        "- **txtai** is faster than Veraz: 0.50 (0.50 to 0.50) of its p50. It searches in its own process"
        in told
    )
    assert "- **txtai** is better than Veraz: nDCG@10 +0.369 (+0.369 to +0.369)." in told
    assert "- **LanceDB**" not in told, "slower and worse"
    assert (
        "Of 2 others, 1 have a lower nDCG@10 than Veraz (1 beyond doubt); 1 are faster and 1 slower, beyond doubt."
        in told
    )
    assert "20 documents of 50 (all judged ones, and the first others)" in told
    assert peers.report.ROUGH not in told


def test_another_way_of_asking_veraz_is_no_peer(peers: Any) -> None:
    found = made(peers, {"veraz": (1, 1), "veraz, retrieval alone": (0.5, 1), "LanceDB": (0.5, 5)})
    told = peers.report.markdown([found])
    assert (
        "Of 1 others, 1 have a lower nDCG@10 than Veraz (1 beyond doubt); 1 are faster and 0 slower" in told
    )
    assert "None is at least as good and at least as fast." in told
    assert "- **veraz, retrieval alone** is faster than Veraz: 0.50" in told, "it is told all the same"
    assert peers.report.colour(found) == "open", "better, and slower: no gain"


def test_a_search_that_finds_nothing_scores_nothing_and_counts(peers: Any) -> None:
    found = made(peers, {"veraz": (1, 1), "txtai": (1, 0)})
    row = found.rows[1]
    assert (row.ndcg, row.recall, row.difference.mean_difference) == (0.0, 0.0, -1.0)


def test_figures_of_a_busy_machine_are_called_rough(peers: Any) -> None:
    assert peers.report.ROUGH in peers.report.markdown([made(peers, {"veraz": (1, 1)}, load=9.0)])


def test_a_peer_that_could_not_be_measured_is_named_with_the_reason(peers: Any) -> None:
    found = made(peers, {"veraz": (1, 1), "pghybrid": (1, 1)})
    failed = peers.running.Measured(
        peers.catalogue.ENTRIES[8], error="its packages could not be installed: <no>"
    )
    row = peers.report._row(failed, None, {}, None)
    with_failure = type(found)(
        **{name: getattr(found, name) for name in found.__slots__ if name != "rows"}, rows=(*found.rows, row)
    )
    assert "| txtai | not measured: its packages could not be installed: <no> |" in peers.report.markdown(
        [with_failure]
    )
    page = peers.report.html([with_failure])
    assert "&lt;no&gt;" in page
    assert "<no>" not in page
    again = peers.report.read(peers.report.written([with_failure]))
    assert peers.report.html(again) == page, "a report can be made anew from the JSON"


def test_the_page_loads_nothing_from_elsewhere(peers: Any) -> None:
    page = peers.report.html([made(peers, {"veraz": (1, 2), "txtai": (0.5, 1), "LanceDB": (2, 5)})])
    assert not re.search(r"(src|href)=|https?://|<script|@import|url\(", page)
    drawings = [page.count(f'class="{kind}"') for kind in ("plot", "interval", "bar")]
    assert drawings == [1, 2, 6], "a plot, and a drawing a row of three tables"
    assert "&lt;made&gt;" in page
