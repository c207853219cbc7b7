"""`veraz diagnose`: what reaches the engine, and what is printed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from tests.cli.conftest import FakeEngine, Run, document

from veraz.nouns.diagnosis import Change, Cluster, Diagnosis, Missed, StagePassed, SuiteDiagnosis
from veraz.nouns.question import Filters

FOUND = Diagnosis(
    question="zinc",
    expect="a.md#2",
    source="guides",
    ord=2,
    revision=1,
    stage="cut_by_k",
    cause=None,
    detail="rank 14, and the first 10 are shown",
    rank=14,
    change=Change("request", {"k": 14}, "-k 14", verified=True),
    others=(
        Change("restore", {"source": "guides", "external_id": "a.md"}, "veraz restore a.md --source guides"),
    ),
    rows=(
        StagePassed("never_ingested", "passed", "document 'a.md' of source 'guides'"),
        StagePassed("not_in_semantic_pool", "unasked", "mode lexical does not ask it"),
        StagePassed("cut_by_k", "lost", "rank 14, and the first 10 are shown", {"rank": 14}),
    ),
    lang="en",
    mode="lexical",
    verb="search",
)
SUITE = SuiteDiagnosis(
    dataset="judged",
    k=10,
    mode="hybrid",
    queries=4,
    judged=20,
    missed=5,
    clusters=(
        Cluster("cut_by_k", None, 4, 0.8, (("q1", "a.md"), ("q2", "b.md")), "-k 14", 4),
        Cluster("cut", "split", 1, 0.2, (("q3", "c.md"),), None, 0),
    ),
    remedy="-k 14",
    mended=4,
    failures=(Missed("q1", 2, FOUND),) * 5,
    warnings=("5 of 9 misses were followed, evenly over all",),
)


def test_every_option_reaches_the_engine(run: Run, fake: FakeEngine) -> None:
    fake.answers["diagnose"] = FOUND
    result = run(
        "diagnose", "zinc", "--expect", "a.md#2", "--source", "guides", "--fact", "five mg", "--for", "search", "-k", "5",
        "--mode", "lexical", "--lang", "es", "--filter-source", "x,y", "--doc-lang", "fr", "--as-of", "2024-05-01",
        "--fusion", "rrf", "--rerank", "none", "--exact",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    [(name, args, given)] = fake.calls
    assert (name, args) == ("diagnose", ("zinc",))
    assert given == {
        "expect": "a.md#2",
        "source": "guides",
        "fact": "five mg",
        "verb": "search",
        "k": 5,
        "mode": "lexical",
        "lang": "es",
        "filters": Filters(sources=("x", "y"), langs=("fr",)),
        "as_of": date(2024, 5, 1),
        "fusion": "rrf",
        "rerank": "none",
        "exact": True,
    }


def test_a_fault_is_shown_with_its_walk_and_what_mends_it(run: Run, fake: FakeEngine) -> None:
    fake.answers["diagnose"] = FOUND
    result = run("diagnose", "zinc", "--expect", "a.md#2")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "guides/a.md#2: cut by k"
    assert "x first k" in result.stdout
    assert "- semantic arm" in result.stdout
    assert "-k 14 (tried: it comes back)" in result.stdout
    assert "veraz restore a.md --source guides" in result.stdout


def test_a_passage_that_is_found_needs_no_change(run: Run, fake: FakeEngine) -> None:
    row = StagePassed("found", "passed", "found, at rank 1")
    fake.answers["diagnose"] = replace(FOUND, stage="found", rank=1, change=None, others=(), rows=(row,))
    result = run("diagnose", "zinc", "--expect", "a.md#2")
    assert "guides/a.md#2: found" in result.stdout
    assert "bring" not in result.stdout


def test_json_is_the_noun(run: Run, fake: FakeEngine) -> None:
    fake.answers["diagnose"] = FOUND
    told = document(run("diagnose", "zinc", "--expect", "a.md#2", "--json"))
    assert (told["stage"], told["change"]["kind"], told["change"]["values"]) == (
        "cut_by_k",
        "request",
        {"k": 14},
    )
    assert told["rows"][2]["facts"] == {"rank": 14}


def test_a_suite_is_shown_in_clusters(run: Run, fake: FakeEngine) -> None:
    fake.answers["diagnose_suite"] = SUITE
    result = run(
        "diagnose", "--suite", "judged", "--source", "guides", "-k", "7", "--mode", "lexical", "--most", "9",
        "--filter", "authority >= 4",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    [(_, args, given)] = fake.calls
    assert args == (Path("judged"),)
    assert given["where"] == "authority >= 4"
    assert (given["source"], given["k"], given["mode"], given["most"]) == ("guides", 7, "lexical", 9)
    assert (
        "5 of 20 relevant documents over 4 questions are not among the first 10 (25.0 %)"
        in result.stdout.replace("\n", " ")
    )
    assert "cut badly (split)" in result.stdout
    assert "mends most: -k 14, 4 of 5 misses" in result.stdout


def test_a_suite_as_json(run: Run, fake: FakeEngine) -> None:
    fake.answers["diagnose_suite"] = SUITE
    told = document(run("diagnose", "--run", "runs/today", "--json"))
    assert told["clusters"][0]["stage"] == "cut_by_k"
    assert told["failures"][0]["diagnosis"]["stage"] == "cut_by_k"


def test_wrong_usage_is_refused(run: Run, fake: FakeEngine) -> None:
    assert run("diagnose", "zinc").exit_code == 2
    assert run("diagnose", "--expect", "a").exit_code == 2
    assert run("diagnose", "zinc", "--expect", "a", "--suite", "d").exit_code == 2
    assert run("diagnose", "zinc", "--expect", "").exit_code == 2
    assert run("diagnose", "zinc", "--expect", "a", "--for", "show").exit_code == 2
    assert fake.calls == []
