"""`veraz context`: what goes to stdout, to stderr and into JSON, and what the engine is asked."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import date

import pytest
from rich.console import Console
from tests.cli import cli_nouns as nouns
from tests.cli.conftest import FakeEngine, Run, document

from veraz.cli.render.context import show_context
from veraz.nouns.context import Context, LeftOut, rendered
from veraz.nouns.corpus import Span
from veraz.nouns.evidence import Passage, PassageChunk

CHUNK = PassageChunk(
    nouns.CHUNK,
    3,
    "paragraph",
    ("Burns", "Cooling"),
    2,
    10,
    60,
    (Span(10, 60),),
    whole=True,
    rank=1,
    score=0.9,
)
LONG = " ".join(["Cool the burn under running water for 20 minutes, and keep the rest of the body warm."] * 4)
PASSAGE = Passage(
    1, nouns.HIT.document, ("Burns", "Cooling"), 2, 10, 60, (Span(10, 60),), LONG, 70, 1, 0.9,
    (replace(CHUNK, ord=2, rank=3), CHUNK, replace(CHUNK, ord=5, rank=None, score=None)),
)  # fmt: skip
SECOND = replace(
    PASSAGE, n=2, heading_path=("Burns", "Later"), text="No ice.", chunks=(replace(CHUNK, rank=2),)
)
FOUND = Context(
    trace_id=nouns.TRACE,
    question="How long is a burn cooled?",
    lang="en",
    mode="hybrid",
    as_of=None,
    budget=400,
    tokens=120,
    sufficiency=0.8,
    threshold=0.3,
    passages=(PASSAGE, SECOND),
    left_out=(
        LeftOut(4, nouns.CHUNK, nouns.HIT.document, "budget"),
        LeftOut(5, nouns.CHUNK, nouns.HIT.document, "budget"),
        LeftOut(6, nouns.CHUNK, nouns.HIT.document, "per_document"),
    ),
    notes=("read “brun” as “burn”",),
    timings_ms={"arms": 4.0, "total": 9.0},
    text=rendered((PASSAGE, SECOND)),
)
NOTHING = replace(FOUND, passages=(), left_out=(), text="", tokens=0, notes=())


def test_stdout_has_the_passages_and_nothing_else(run: Run, fake: FakeEngine) -> None:
    fake.answers["context"] = FOUND
    result = run("context", "x")
    assert result.exit_code == 0
    assert result.stdout == FOUND.text + "\n", "not wrapped: a model would read other text"
    assert "[2] Burns › Later (guides/burns.md" in result.stdout
    assert "explained by" not in result.stdout


def test_stderr_says_what_was_left_out_and_how_much_it_can_answer(run: Run, fake: FakeEngine) -> None:
    fake.answers["context"] = FOUND
    said = " ".join(run("context", "x").stderr.split())
    assert "2 passages of 1 document · 120 of 400 tokens · hybrid · question read as en" in said
    assert "sufficiency 0.80 (threshold 0.30)" in said
    assert "note: 3 hits left out: 2 over the budget, 1 of documents that gave enough" in said
    assert "note: read “brun” as “burn”" in said
    assert f"veraz why {nouns.TRACE}" in said


def test_a_document_moves_no_cursor(run: Run, fake: FakeEngine) -> None:
    fake.answers["context"] = replace(FOUND, text="[1] A\n\x1b[2Jgone\u202e")
    assert run("context", "x").stdout == "[1] A\n\ufffd[2Jgone\ufffd\n"


@pytest.mark.parametrize("flags", [["--json"], ["--format", "json"], ["--format", "json", "--json"]])
def test_json_has_text_provenance_and_what_was_left_out(run: Run, fake: FakeEngine, flags: list[str]) -> None:
    fake.answers["context"] = FOUND
    result = run("context", "x", *flags)
    printed = document(result)
    assert result.stderr == ""
    assert printed["text"] == FOUND.text
    assert [p["n"] for p in printed["passages"]] == [1, 2]
    first = printed["passages"][0]
    assert (first["document"]["external_id"], first["spans"]) == ("burns.md", [{"start": 10, "end": 60}])
    assert [c["rank"] for c in first["chunks"]] == [3, 1, None]
    assert [(left["rank"], left["why"]) for left in printed["left_out"]][2] == (6, "per_document")
    assert (printed["budget"], printed["tokens"]) == (400, 120)


@pytest.mark.parametrize("flags", [[], ["--format", "text"]])
def test_finding_nothing_is_a_normal_outcome(run: Run, fake: FakeEngine, flags: list[str]) -> None:
    fake.answers["context"] = NOTHING
    result = run("context", "x", *flags)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("nothing found\n")


def test_a_budget_that_holds_nothing_is_told_apart(run: Run, fake: FakeEngine) -> None:
    fake.answers["context"] = replace(NOTHING, left_out=FOUND.left_out[:1])
    result = run("context", "x")
    assert result.stdout == ""
    assert result.stderr.startswith("nothing fits\nnote: 1 hit left out: 1 over the budget\n")


def test_two_forms_at_once_are_refused(run: Run, fake: FakeEngine) -> None:
    result = run("context", "x", "--json", "--format", "text")
    assert result.exit_code == 2
    assert "leave one of them out" in result.stderr
    assert fake.calls == []


def test_it_hands_over_what_was_asked(run: Run, fake: FakeEngine) -> None:
    fake.answers["context"] = FOUND
    flags = (
        "-k 3 --mode lexical --lang es --fusion rrf --rerank maxsim --exact --as-of 2024-06-01 --budget 900"
        " --neighbours 0 --no-sections --per-document 0 --source a,b --doc-lang en"
    )
    assert run("context", "dolor", *flags.split(), "--filter", "authority >= 4").exit_code == 0
    _, (question,), given = fake.calls[0]
    filters = given.pop("filters")
    assert question == "dolor"
    assert given == {
        "k": 3, "mode": "lexical", "lang": "es", "fusion": "rrf", "rerank": "maxsim", "exact": True,
        "as_of": date(2024, 6, 1), "budget": 900, "neighbours": 0, "sections": False, "per_document": 0,
    }  # fmt: skip
    assert (filters.sources, filters.langs, filters.where) == (("a", "b"), ("en",), "authority >= 4")


def test_what_is_not_said_is_as_configured(run: Run, fake: FakeEngine) -> None:
    fake.answers["context"] = FOUND
    run("context", "x")
    given = fake.calls[0][2]
    assert {given[name] for name in ("k", "budget", "neighbours", "sections", "per_document", "rerank")} == {
        None
    }
    run("context", "x", "--sections")
    assert fake.calls[1][2]["sections"] is True


@pytest.mark.parametrize("flags", ["--budget 15", "--neighbours 51", "--per-document -1", "-k 0"])
def test_it_refuses_what_the_engine_would(run: Run, fake: FakeEngine, flags: str) -> None:
    assert run("context", "x", *flags.split()).exit_code == 2
    assert fake.calls == []


@pytest.mark.parametrize("width", [80, 120])
def test_in_a_terminal_it_is_laid_out(width: int) -> None:
    out, aside = (
        Console(file=io.StringIO(), force_terminal=tty, width=width, color_system=None, highlight=False)
        for tty in (True, False)
    )
    show_context(out, aside, replace(FOUND, passages=(replace(PASSAGE, truncated=True), SECOND)))
    assert isinstance(out.file, io.StringIO)
    shown = out.file.getvalue()
    assert all(len(line) <= width and line == line.rstrip() for line in shown.splitlines())
    assert shown.startswith("[1] Burns › Cooling\n    guides/burns.md · p. 2 · revised 2024-05-06 · current")
    assert "hits #1, #3" in shown
    assert "cut to fit" in shown
    assert " ".join(shown.split()).count("Cool the burn under running water") == 4
    assert "[2] Burns › Later\n" in shown
    assert "hit #2" in shown
