"""What the commands print, for people and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli import cli_nouns as nouns
from tests.cli.conftest import FakeEngine, Run, document

from veraz.cli.demo import activation
from veraz.cli.output import encode
from veraz.cli.render.bars import LogBars
from veraz.cli.render.console import clean, duration
from veraz.cli.render.ingest import progress_detail
from veraz.nouns.evidence import ArmScore

HIT_FIELDS = {
    "rank", "score", "chunk_id", "document", "ord", "kind", "heading_path", "page", "start", "end", "body", "lexical",
    "semantic", "rerank",
}  # fmt: skip
DOCUMENT_FIELDS = {
    "external_id", "source", "authority", "license", "title", "url", "lang", "revision", "published_at", "revised_at",
    "superseded_by", "is_current",
}  # fmt: skip
SEARCH_FIELDS = {
    "trace_id", "question", "lang", "mode", "outcome", "sufficiency", "threshold", "shortfall", "timings_ms", "hits",
}  # fmt: skip
ANSWER_FIELDS = {
    "trace_id", "outcome", "answer", "claims", "citations", "conflicts", "superseded", "route", "reason", "dropped",
    "uncertain", "access", "sufficiency", "threshold", "standalone_question", "sub_questions", "usage", "timings_ms",
}  # fmt: skip
CITATION_FIELDS = {
    "n", "external_id", "source", "title", "url", "revision", "revised_at", "chunk_id", "ord", "heading_path", "page",
    "start", "end", "quote", "superseded_by",
}  # fmt: skip
RUN_FIELDS = {
    "run_id", "dataset", "queries", "config", "metrics", "per_query", "latency_ms", "empty", "authorised_fraction", "gates",
}  # fmt: skip
INGEST_FIELDS = {
    "new", "changed", "unchanged", "superseded", "deleted", "failed", "documents", "chunks", "embedded", "reused",
    "seconds", "errors",
}  # fmt: skip


def narrow(output: str) -> bool:
    return all(len(line) <= 80 and line == line.rstrip() for line in output.splitlines())


# JSON


def test_search_json_has_every_field_of_the_contract(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = nouns.SEARCH
    printed = document(run("search", "x", "--json"))
    assert printed.keys() >= SEARCH_FIELDS
    (hit,) = printed["hits"]
    assert hit.keys() >= HIT_FIELDS
    assert hit["document"].keys() >= DOCUMENT_FIELDS
    assert hit["document"]["revised_at"] == "2024-05-06"
    assert hit["chunk_id"] == str(nouns.CHUNK)
    assert (hit["lexical"], hit["rerank"]) == ({"rank": 1, "score": 12.5}, None)


def test_ask_json_has_every_field_of_the_contract(run: Run, fake: FakeEngine) -> None:
    fake.answers["ask"] = nouns.CONFLICTING
    printed = document(run("ask", "x", "--json"))
    assert printed.keys() >= ANSWER_FIELDS
    assert printed["citations"][0].keys() >= CITATION_FIELDS
    assert printed["claims"][0].keys() == {"text", "citations", "support"}
    assert printed["conflicts"][0]["sides"][1] == {"text": "10 minutes.", "citations": [2]}


def test_ingest_json_lists_every_failure(run: Run, fake: FakeEngine) -> None:
    fake.answers["ingest"] = nouns.failures(30)
    result = run("ingest", "x", "--source", "s", "--json")
    printed = document(result)
    assert result.exit_code == 4
    assert printed.keys() >= INGEST_FIELDS
    assert len(printed["errors"]) == 30
    assert printed["errors"][0].keys() == {"path", "external_id", "stage", "reason"}
    assert "error" not in printed


def test_show_and_why_print_json(run: Run, fake: FakeEngine) -> None:
    fake.answers |= {"show": nouns.SHOWN, "explain_trace": nouns.EXPLAINED_TRACE}
    assert document(run("show", "burns.md", "--json"))["chunks"][0]["spans"] == [{"start": 10, "end": 43}]
    assert document(run("why", "1111", "--json")) == nouns.EXPLAINED_TRACE


def test_eval_json_is_one_document(run: Run, fake: FakeEngine) -> None:
    fake.answers["evaluate"] = (nouns.evaluated(),)
    printed = document(run("eval", "run", "judged", "--json"))
    assert printed.keys() >= RUN_FIELDS
    assert "results" not in printed
    fake.answers["evaluate"] = (nouns.evaluated("lexical"), nouns.evaluated("semantic"))
    printed = document(run("eval", "run", "judged", "--json", "--mode", "lexical", "--mode", "semantic"))
    assert [entry["run_id"] for entry in printed["runs"]] == ["run-lexical", "run-semantic"]


def test_numbers_that_are_none_become_null() -> None:
    class Scalar:
        def tolist(self) -> float:
            return 1.5

    assert json.loads(encode({"a": float("nan"), "b": float("inf"), "c": Scalar()})) == {
        "a": None,
        "b": None,
        "c": 1.5,
    }


# Text


def test_a_hit_shows_where_it_is_from_and_why(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = nouns.SEARCH
    result = run("search", "x")
    assert result.exit_code == 0
    assert narrow(result.stdout)
    assert result.stdout.splitlines() == [
        " 1  Burns › Cooling  0.8750",
        "    guides/burns.md#3 · revised 2024-05-06 · current",
        "    Cool the burn under running water for 20 minutes.",
        "    lexical #1 12.5000 · semantic #2 0.9000",
        f"    chunk {nouns.CHUNK}",
        "",
        "1 hit · hybrid · question read as en",
        "embed 12 ms · arms 4.2 ms · total 17 ms",
        f"explained by: veraz why {nouns.TRACE}",
    ]


def test_explain_shows_the_arithmetic_and_the_terms(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = replace(nouns.SEARCH, hits=(nouns.EXPLAINED,))
    shown = run("search", "x", "--explain").stdout
    assert "0.4/(60 + lexical rank 1) + 0.6/(60 + semantic rank 2) = 0.8750" in " ".join(shown.split())
    assert "burn (en): idf 2.500, in 8 chunks" in shown
    assert "in no chunk: cool\n" in shown
    assert "(fr)" not in shown


def test_a_reranked_hit_says_how_its_score_was_mixed(run: Run, fake: FakeEngine) -> None:
    said = {"fused_rank": 4, "fused_score": 0.7, "fused": 0.25, "reranked": 1.0, "scored": True}
    fusion = {"method": "rrf", "semantic_weight": 0.6, "score": 0.7}
    explain = {**(nouns.EXPLAINED.explain or {}), "fusion": fusion, "rerank": said}
    scored = replace(nouns.EXPLAINED, explain=explain, rerank=ArmScore(1, 0.5312))
    behind = replace(nouns.EXPLAINED, rank=2, explain={**explain, "rerank": {**said, "scored": False}})
    record = {"name": "maxsim", "weight": 0.8}
    config = {**nouns.SEARCH.config, "rerank": record}
    fake.answers["search"] = replace(nouns.SEARCH, hits=(scored, behind), config=config)
    shown = " ".join(run("search", "x", "--explain").stdout.split())
    assert "0.6/(60 + semantic rank 2) = 0.7000" in shown
    assert "rank 4 as fused; reranked: 0.2 × fused 0.2500 + 0.8 × maxsim 1.0000 (of 0.5312) = 0.8750" in shown
    assert "rank 4 as fused; not scored by maxsim, so behind what was" in shown
    assert "rerank #1 0.5312" in shown


def test_minmax_is_spelled_out_when_the_result_has_its_parts(run: Run, fake: FakeEngine) -> None:
    explain: dict[str, Any] = {
        "fusion": {"method": "minmax", "score": 0.875},
        "arms": {"lexical": {"rank": 1, "score": 12.5, "normalised": 1.0, "weight": 0.4}},
    }
    fake.answers["search"] = replace(nouns.SEARCH, hits=(replace(nouns.HIT, explain=explain),))
    assert (
        "fused by minmax: 0.4 × lexical 1.0000 (of 12.5000) = 0.8750"
        in run("search", "x", "--explain").stdout
    )


def test_nothing_found_is_a_normal_outcome_with_its_reason(run: Run, fake: FakeEngine) -> None:
    notes = ("the question has no searchable words",)
    fake.answers["search"] = replace(nouns.SEARCH, hits=(), outcome="nothing", notes=notes)
    result = run("search", "…")
    assert result.exit_code == 0
    assert result.stdout.startswith("nothing found\nnote: the question has no searchable words\n")


def test_superseded_material_is_marked(run: Run, fake: FakeEngine) -> None:
    old = replace(nouns.HIT, document=replace(nouns.DOCUMENT, superseded_by="new.md", is_current=False))
    fake.answers["search"] = replace(nouns.SEARCH, hits=(old,))
    shown = run("search", "x").stdout
    assert "superseded by new.md" in shown
    assert "current" not in shown.splitlines()[1]


def test_an_answer_comes_with_its_sources(run: Run, fake: FakeEngine) -> None:
    fake.answers["ask"] = nouns.ANSWER
    result = run("ask", "x")
    assert narrow(result.stdout)
    assert result.stdout.splitlines() == [
        "Answered from the sources below",
        "",
        "Cool the burn under running water for 20 minutes. [1]",
        "",
        "Sources",
        "[1] Burns › Cooling",
        "    guides/burns.md#3 · revised 2024-05-06",
        "    https://example.org/burns",
        "    “Cool the burn under running water for 20 minutes.”",
        "",
        "sufficiency 0.91 (threshold 0.50)",
        "total 20 ms",
        f"explained by: veraz why {nouns.TRACE}",
    ]


def test_a_conflict_shows_both_sides_with_date_and_authority(run: Run, fake: FakeEngine) -> None:
    fake.answers["ask"] = nouns.CONFLICTING
    shown = run("ask", "x").stdout
    assert shown.startswith("The sources disagree\n")
    assert "  • 20 minutes. [1]\n    Burns · guides · revised 2024-05-06 · authority 4\n" in shown
    assert "  • 10 minutes. [2]\n    Other burns · guides · undated · authority 2\n" in shown
    assert "Replaced guidance: Old burns (revised 2019-01-01) was superseded by Burns" in shown


def test_a_refusal_says_why_and_exits_0(run: Run, fake: FakeEngine) -> None:
    fake.answers["ask"] = nouns.REFUSED
    result = run("ask", "x")
    assert result.exit_code == 0
    assert (
        "Not answered: the sources do not say enough\n\nThe sources say nothing about bicycles.\n"
        in result.stdout
    )
    assert "left out: Ride on. (no source says so)" in result.stdout


def test_a_routed_message_is_first(run: Run, fake: FakeEngine) -> None:
    fake.answers["ask"] = nouns.ROUTED
    lines = run("ask", "x").stdout.splitlines()
    assert "emergency" in lines[0]
    assert "Call the emergency number." in lines[1]
    assert sum("Call the emergency number." in line for line in lines) == 1


def test_the_tenant_is_part_of_the_hint(run: Run, fake: FakeEngine) -> None:
    fake.answers |= {"ask": replace(nouns.ANSWER, access={"tenant": "demo"}), "search": nouns.SEARCH}
    assert f"veraz why {nouns.TRACE} --tenant demo\n" in run("ask", "x").stdout
    assert f"veraz why {nouns.TRACE} --tenant demo\n" in run("search", "x", "--tenant", "demo").stdout


def test_why_shows_live_quotes_or_that_they_are_gone(run: Run, fake: FakeEngine) -> None:
    fake.answers["explain_trace"] = nouns.EXPLAINED_TRACE
    result = run("why", "1111")
    shown = result.stdout
    assert "“Cool the burn.”" in shown
    assert "purged, or not permitted to you" in shown
    assert "embed 12 ms · total 17 ms" in shown
    assert "fusion minmax · lexical.budget 200000 · lexical.exact yes" in shown
    assert "the number 30 is not in the source" in shown
    assert "1   guides/burns.md#3 r2   0.8750   #1 12.50          –" in shown


def test_why_shows_a_trace_with_nothing_but_its_head(run: Run, fake: FakeEngine) -> None:
    head = ("trace_id", "kind", "created_at", "roles", "question", "outcome")
    fake.answers["explain_trace"] = {name: nouns.EXPLAINED_TRACE[name] for name in head}
    assert "outcome   answered: Answered from the sources below" in run("why", "1111").stdout


def test_show_gives_sections_revisions_and_chunks(run: Run, fake: FakeEngine) -> None:
    fake.answers["show"] = nouns.SHOWN
    short = run("show", "burns.md", "--source", "guides", "--revision", "2").stdout
    assert fake.calls[0][1:] == (("burns.md",), {"source": "guides", "revision": 2, "as_of": None})
    assert "standing     current" in short
    assert "supersedes   old.md" in short
    assert "  Burns  0–60, 1 chunk" in short
    assert "Cool the burn" not in short
    full = run("show", "burns.md", "--chunks").stdout
    assert "#0  paragraph · Burns · 10–43 · 9 tokens" in full
    assert "    Cool the burn under running water.\n" in full


def test_ingest_sums_up_and_lists_twenty_failures(run: Run, fake: FakeEngine) -> None:
    fake.answers["ingest"] = nouns.failures(23)
    result = run("ingest", "x", "--source", "s")
    assert result.exit_code == 4
    assert "documents  2 new · 3 unchanged · 1 superseded · 23 failed\n" in result.stdout
    assert "vectors    8 embedded, 1 reused\n" in result.stdout
    assert result.stderr.count("failed to read: file") == 20
    assert result.stderr.endswith("… and 3 more failures; --json lists all\n")


def test_ingest_without_failures_exits_0(run: Run, fake: FakeEngine) -> None:
    fake.answers["ingest"] = nouns.ingested(warnings=("a chunk was cut",))
    result = run("ingest", "x", "--source", "s")
    assert (result.exit_code, result.stderr) == (0, "warning: a chunk was cut\n")


def test_delete_of_nothing_exits_4(run: Run, fake: FakeEngine) -> None:
    fake.answers["delete"] = False
    result = run("delete", "x.md", "--source", "s", "--json")
    assert result.exit_code == 4
    assert document(result) == {"external_id": "x.md", "source": "s", "deleted": False}
    assert "where: (x.md)" in result.stderr
    fake.answers["delete"] = True
    assert run("delete", "x.md", "--source", "s").stdout == "deleted x.md of s\n"


def test_a_gate_that_fails_exits_5_after_the_table(run: Run, fake: FakeEngine) -> None:
    fake.answers["evaluate"] = (nouns.evaluated("hybrid", passed=False), nouns.evaluated("lexical"))
    result = run("eval", "run", "judged", "--mode", "all", "--gate", "ndcg@10>=0.8")
    assert result.exit_code == 5
    assert fake.calls[0][2]["modes"] == ("hybrid", "lexical", "semantic")
    assert "ndcg@10 0.7251 0.7251" in " ".join(result.stdout.split())
    assert "1 query without judgements: neither searched nor counted" in result.stdout
    assert "1 of 2 gates failed" in result.stderr
    printed = run("eval", "run", "judged", "--json", "--gate", "ndcg@10>=0.8")
    assert printed.exit_code == 5
    assert len(document(printed)["runs"]) == 2


def test_text_of_documents_cannot_drive_the_terminal(run: Run, fake: FakeEngine) -> None:
    evil = replace(nouns.HIT, body="safe \x1b[2J\x1b]0;owned\x07 [bold]text[/bold] :smile:\u202eesrever")
    fake.answers["search"] = replace(nouns.SEARCH, hits=(evil,))
    shown = run("search", "x", env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[2J" not in shown
    assert "\x1b]0" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "[bold]text[/bold] :smile:" in shown
    assert clean("a\r\nb\rc\td") == "a\nb\nc\td"


def test_colour_only_where_it_is_wanted(run: Run, fake: FakeEngine) -> None:
    fake.answers |= {"search": nouns.SEARCH, "ask": nouns.ROUTED}
    assert "\x1b[" in run("search", "x", env={"FORCE_COLOR": "1"}).stdout
    for verb in ("search", "ask"):
        assert "\x1b[" not in run(verb, "x").stdout
        assert "\x1b[" not in run(verb, "x", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


# Progress


@pytest.mark.parametrize(
    ("seen", "total", "chunks", "elapsed", "said"),
    [
        (0, 100, 0, 0.0, "0 of 100 documents · 0 chunks"),
        (1, None, 4, 2.0, "1 document · 4 chunks · 2.0 chunks/s"),
        (
            1500,
            3000,
            6000,
            120.0,
            "1,500 of 3,000 documents · 6,000 chunks · 50.0 chunks/s · 2 min 00 s left",
        ),
        (3000, 3000, 9000, 60.0, "3,000 of 3,000 documents · 9,000 chunks · 150.0 chunks/s"),
    ],
)
def test_progress_says_how_far_and_how_long(
    seen: int, total: int | None, chunks: int, elapsed: float, said: str
) -> None:
    assert progress_detail(seen, total, chunks, elapsed) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (42.4, "42 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 1.0, 9.0, 11.0, 12.0, 22.0])
    bars = LogBars(clock=lambda: next(now))
    for done in range(6):
        bars.show("ingest", done, 6, f"{done} done")
    assert capsys.readouterr().err.splitlines() == ["ingest: 3 done", "ingest: 5 done"]


def test_a_demo_run_by_make_says_how_veraz_gets_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "a venv" / "bin" / "activate"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path / "a venv"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert [line for _, line in activation()] == [". 'a venv/bin/activate'"]
    veraz = tmp_path / "veraz"
    veraz.touch(mode=0o755)
    assert activation() == []
