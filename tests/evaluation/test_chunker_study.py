"""The study of chunkers: facts judged in what is shown, its suites true to the documents, its tables from raw results."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from tests.support.hashing import HashingEmbedder

from veraz.nouns.corpus import Span, Vectors
from veraz.nouns.evidence import DocumentRef, Hit

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        return importlib.import_module("chunkers")


@pytest.fixture(scope="module")
def report(bench: ModuleType) -> ModuleType:
    return sys.modules[bench.report.__name__]


def hit(rank: int, document: str, body: str, *also: str) -> Hit:
    refs = [
        DocumentRef(name, "s", 3, None, name, None, "en", 1, None, None, None, True)
        for name in (document, *also)
    ]
    span = Span(0, len(body))
    return Hit(
        rank,
        1 / rank,
        uuid4(),
        refs[0],
        0,
        "paragraph",
        (),
        None,
        0,
        span.end,
        body,
        (span,),
        9,
        also=tuple(refs[1:]),
    )


def question(bench: ModuleType, *facts: str, documents: tuple[str, ...] = ("right",)) -> Any:
    return bench.Question("x-001", "tune", "table", "en", "How much?", documents, facts)


# Judging


def test_a_fact_is_complete_where_the_last_of_its_expressions_ends(bench: ModuleType) -> None:
    body = "| Age | Dose |\n| 6 to 11 | 5\xa0mg |\n" + "x" * 6
    assert bench.complete((r"5 MG", r"\| dose"), body) == pytest.approx(
        body.index("mg") / len(body) + 2 / len(body)
    )
    assert bench.complete((r"5 mg", r"weight"), body) is None
    assert bench.complete((r"Age.*5 mg",), body) is None, "a point does not leave its line"


def test_the_first_hit_that_answers_gives_rank_and_tokens(bench: ModuleType) -> None:
    asked = question(bench, "5 mg", "child")
    hits = [
        hit(1, "wrong", "child: 5 mg"),
        hit(2, "right", "child: 7 mg"),
        hit(3, "right", "child 5 mg" + "." * 10),
        hit(4, "right", "child 5 mg"),
    ]
    assert bench.judged(asked, hits, [100, 50, 40, 9]) == (3, 100 + 50 + 20)
    assert bench.judged(asked, hits[:2], [100, 50]) == (None, None)


def test_a_text_that_several_documents_share_counts_for_each(bench: ModuleType) -> None:
    assert bench.judged(question(bench, "5 mg"), [hit(1, "other", "5 mg", "right")], [10]) == (1, 10)


# Suites


@pytest.mark.parametrize(("suite", "least"), [("aemps", 60), ("medquad", 60)])
def test_suites_are_well_formed(bench: ModuleType, suite: str, least: int) -> None:
    asked = bench.questions(suite)
    assert len({q.id for q in asked}) == len(asked) >= least
    assert len({q.question for q in asked}) == len(asked)
    halves = [q.half for q in asked]
    assert halves == ["tune" if int(q.id[-3:]) % 2 else "held-out" for q in asked]
    assert {q.kind for q in asked} == {"table", "list", "sentence", "heading"}
    for q in asked:
        assert q.documents, q.id
        assert q.facts, q.id
        assert max(map(len, q.facts)) <= 120, f"{q.id}: a fact is short, and no copied text"
        assert all(re.compile(fact) and not re.search(fact, "") for fact in q.facts), q.id


@pytest.mark.parametrize("suite", ["aemps", "medquad"])
def test_every_fact_stands_in_its_documents(bench: ModuleType, shared: Path, suite: str) -> None:
    held = bench.texts(suite, shared / "data")
    missing = [
        (q.id, document)
        for q in bench.questions(suite)
        for document in q.documents
        if bench.complete(q.facts, held[document]) is None
    ]
    assert missing == []


def test_the_sample_is_fixed_and_half_of_it_is_near(bench: ModuleType) -> None:
    rows = [{"id": str(n), "focus": "Gout" if n < 10 else "Flu"} for n in range(40)]
    chosen = bench._chosen(rows, {"3"}, 8)
    assert [row["id"] for row in chosen] == [row["id"] for row in bench._chosen(rows[::-1], {"3"}, 8)]
    assert chosen[0]["id"] == "3"
    assert [row["focus"] for row in chosen[1:]] == ["Gout"] * 4 + ["Flu"] * 4


# A run


async def test_a_configuration_is_indexed_asked_kept_and_removed(
    bench: ModuleType,
    report: ModuleType,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VERAZ_DATABASE_URL", database)
    page = tmp_path / "gout.md"
    page.write_text("# Gout\n\n## Dose\n\nTake 5 mg a day.\n\n## Storage\n\nKeep it dry.\n", encoding="utf-8")
    asked = question(bench, "5 mg", documents=("gout.md",))
    asked = replace(asked, question="dose of gout in mg a day")
    run = bench.Run(bench.CountingEmbedder(HashingEmbedder()), "fp32", tmp_path / "raw.jsonl")
    for header in (True, False):
        await bench.configuration(run, "aemps", ("structure", header), [page], [asked])
    study = report.read(run.out)
    assert study.configurations(study.suites) == (("structure", True), ("structure", False))
    assert {row.mode: row.rank for row in study.asked if row.header} == {
        "hybrid": 1,
        "lexical": 1,
        "semantic": 1,
    }
    with_header, without = study.indexed
    assert (with_header.documents, with_header.chunks) == (1, 2)
    assert with_header.embedded == with_header.stored > without.stored
    async with await bench.AsyncVeraz.open(database, embedder=run.embedder) as veraz:
        assert [t.slug for t in await veraz.tenants() if t.slug.startswith("chunkers-")] == []


def test_a_raw_file_of_another_study_is_refused(
    bench: ModuleType, report: ModuleType, tmp_path: Path
) -> None:
    kept(report, tmp_path / "raw.jsonl")
    run = bench.Run(bench.CountingEmbedder(HashingEmbedder()), "int8", tmp_path / "raw.jsonl", "x")
    assert bench.earlier(run) == {("aemps", "structure", True), ("aemps", "late", True)}
    with pytest.raises(SystemExit, match="name another"):
        bench.earlier(replace(run, setting="y"))
    assert bench.earlier(replace(run, out=tmp_path / "none.jsonl")) == set()


class Pooling(HashingEmbedder):
    gives_tokens = True

    async def embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        return np.stack([self.vector(" ".join(text[s.start : s.end] for s in group)) for group in groups])


async def test_all_that_goes_through_the_model_is_counted(bench: ModuleType) -> None:
    """Tokens of the tests' embedder are words, and two more."""
    counting = bench.CountingEmbedder(Pooling())
    await counting.embed(["one two", "three"], "passage")
    await counting.embed(["a question"], "query")
    assert counting.tokens == 4 + 3
    await counting.embed_spans("one two three four", [[Span(0, 3)], [Span(4, 7)]])
    assert counting.tokens == 7 + 6
    assert counting.shown(["one two three"]) == [3]
    assert counting.gives_tokens
    assert not bench.CountingEmbedder(HashingEmbedder()).gives_tokens


# Tables


def kept(report: ModuleType, path: Path) -> None:
    """Two configurations, four questions: the second finds half of what the first does."""
    rows = []
    for chunker, ranks in (("structure", (1, 2, 6, None)), ("late", (2, None, None, None))):
        for number, rank in enumerate(ranks, 1):
            half = "tune" if number % 2 else "held-out"
            tokens = None if rank is None else rank * 300.0
            same = (f"es-{number:03}", half, "list", rank, tokens)
            rows += [report.Asked("aemps", chunker, True, mode, *same) for mode in report.MODES]
        rows.append(report.Indexed("aemps", chunker, True, 3, 20, 2000, 2500, 4.2, "int8", "x"))
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")


def test_tables_hold_the_figures_of_the_raw_results(report: ModuleType, tmp_path: Path) -> None:
    kept(report, tmp_path / "raw.jsonl")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        report.write(page, report.read(tmp_path / "raw.jsonl"))
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{report.BEGIN}\n\nModel: int8.")
    assert text.endswith(f"{report.END}\nafter\n")
    assert "old" not in text
    # ranks 1, 2, 6 and none: MRR is 1.667 / 4, and rank 6 is read after 1,800 tokens
    assert "| `structure` | on | 0.250 | 0.500 | 0.500 | 0.417 | 0.500 | 0.500 |  |  |" in text
    assert (
        "| `late` | on | 0.000 | 0.250 | 0.250 | 0.125 | 0.500 | 0.000 | -0.250 (-0.750 to +0.000) |" in text
    )
    assert "| `late` | on | 20 | 100 | 2,500 | 4 |" in text


def test_a_page_without_marks_is_left_alone(report: ModuleType, tmp_path: Path) -> None:
    kept(report, tmp_path / "raw.jsonl")
    (tmp_path / "page.md").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="has no lines"):
        report.write(tmp_path / "page.md", report.read(tmp_path / "raw.jsonl"))
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == "nothing\n"


def test_a_difference_is_paired_by_question(report: ModuleType, tmp_path: Path) -> None:
    kept(report, tmp_path / "raw.jsonl")
    study = report.read(tmp_path / "raw.jsonl")
    ours = study.of(("structure", True), "hybrid", ("aemps",))
    same = report.difference(ours, dict(reversed(ours.items())), report.reciprocal)
    assert same == "+0.000 (+0.000 to +0.000)"
    assert report.difference(ours, {}, report.reciprocal) == "–"
