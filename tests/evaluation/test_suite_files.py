"""suite.toml, queries.jsonl with circumstances, and the log of judgements: what is read, and how a fault is named."""

from __future__ import annotations

import json
import multiprocessing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from veraz.errors import UsageError
from veraz.evaluation.dataset import load_dataset, load_suite
from veraz.evaluation.suites.judgements import (
    JudgementLog,
    judgement_line,
    latest,
    read_judgements,
    settled,
    text_hash,
)
from veraz.evaluation.suites.manifest import read_manifest, write_manifest
from veraz.evaluation.suites.requests import read_requests, request_line
from veraz.nouns.question import Filters
from veraz.nouns.suite import Judgement, Manifest, QueryRequest

MANIFEST = (
    'name = "leaflets"\nversion = "3"\nsources = ["aemps"]\nlang = "es"\nsplits = ["open", "private"]\n'
)
FULL = {
    "id": "q1", "text": "¿Qué dosis?", "lang": "en", "tenant": "clinic", "roles": ["staff"], "as_of": "2024-05-01",
    "filters": {"sources": ["aemps"], "authority": 4, "revised_from": "2024-01-01"}, "facets": ["table", "recency"],
    "outcome": "answered", "facts": ["5 mg"], "split": "private",
}  # fmt: skip
HASH = text_hash("x")


def suite(
    folder: Path, queries: list[dict[str, Any]], judgements: list[dict[str, Any]] | None = None
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "suite.toml").write_text(MANIFEST)
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    if judgements is not None:
        (folder / "judgements.jsonl").write_text("".join(json.dumps(j) + "\n" for j in judgements))
    return folder


def judged(query_id: str = "q1", grade: int | None = 2, start: int = 0, **more: Any) -> dict[str, Any]:
    line = {
        "query_id": query_id,
        "external_id": "d",
        "start": start,
        "end": start + 9,
        "sha256": HASH,
        "grade": grade,
    }
    return {**line, **more}


def test_a_manifest_survives_writing(tmp_path: Path) -> None:
    odd = Manifest('a "b"\n\x7f\\', "1", "ü", "CC0", ("s1", "s2"), "es", ("tune", "private"))
    for manifest in (odd, Manifest("n", "1")):
        write_manifest(tmp_path, manifest)
        assert read_manifest(tmp_path) == manifest


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('name = "x"', "missing required field `version`"),
        ('name = "x"\nversion = 2', "Expected `str`, got `int`"),
        ('name = "x"\nversion = "1"\nlicence = "CC0"', "unknown field `licence`"),
        ('name = "x"\nversion = one', "line 2"),
        ('name = " "\nversion = "1"', "name is blank"),
        ('name = "x"\nversion = "1"\nsplits = []', "splits is empty"),
        ('name = "x"\nversion = "1"\nsources = ["a", "a"]', "sources names one of its values twice"),
    ],
)
def test_a_manifest_that_is_wrong_is_named(tmp_path: Path, toml: str, message: str) -> None:
    (tmp_path / "suite.toml").write_text(toml)
    with pytest.raises(UsageError, match=message) as caught:
        read_manifest(tmp_path)
    assert "suite.toml" in caught.value.what


def test_a_query_says_how_it_is_asked(tmp_path: Path) -> None:
    path = suite(tmp_path / "s", [FULL, {"id": 2, "text": "b"}]) / "queries.jsonl"
    manifest = read_manifest(path.parent)
    found = read_requests(path, manifest)
    assert found["q1"] == QueryRequest(
        "q1", "¿Qué dosis?", "en", "clinic", ("staff",),
        Filters(sources=("aemps",), authority=4, revised_from=date(2024, 1, 1)), date(2024, 5, 1),
        ("table", "recency"), "answered", ("5 mg",), "private",
    )  # fmt: skip
    assert found["2"] == QueryRequest("2", "b", "es", split="open")
    again = tmp_path / "again.jsonl"
    again.write_text("".join(request_line(r, manifest) + "\n" for r in found.values()))
    assert read_requests(again, manifest) == found
    assert json.loads(request_line(found["2"], manifest)) == {"id": "2", "text": "b"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "x", "text": "t", "facet": ["a"]}, "unknown field `facet`"),
        ({"id": "x", "text": " "}, "'x' has no text"),
        ({"id": "x"}, "missing required field `text`"),
        ({"text": "t"}, "no usable id"),
        ({"id": "x", "text": "t", "outcome": "refused"}, "Invalid enum value 'refused'"),
        ({"id": "x", "text": "t", "as_of": "May"}, "Invalid RFC3339"),
        ({"id": "x", "text": "t", "split": "test"}, "is in the split 'test'"),
        ({"id": "x", "text": "t", "filters": {"source": "a"}}, "filters by 'source'"),
        ({"id": "x", "text": "t", "filters": {"where": "lang ="}}, "ends where a value is expected"),
        ({"id": "x", "text": "t", "filters": {"where": 4}}, "filters"),
        ({"id": "x", "text": "t", "filters": {"sources": "a"}}, "filters: Expected `array"),
        ({"id": "x", "text": "t", "facets": ["a", "a"]}, "facets names one value twice"),
        ({"id": "x", "text": "t", "roles": [""]}, "roles holds a blank text"),
        ({"id": "q0", "text": "t"}, "used twice"),
    ],
)
def test_a_query_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    folder = suite(tmp_path / "s", [{"id": "q0", "text": "fine"}, line], [judged("q0")])
    with pytest.raises(UsageError, match=message) as caught:
        load_dataset(folder)
    assert "queries.jsonl:2: " in caught.value.what


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (judged(grade=4), "grade 4"),
        (judged(grade=-1), "grade -1"),
        (judged(end=0), "the span 0–0 holds nothing"),
        (judged(start=-3), "holds nothing"),
        (judged(sha256="ab"), "is not 64 digits"),
        (judged(external_id=" "), "a blank id"),
        ({"query_id": "q1"}, "missing required field"),
        (judged(text="no text here"), "unknown field `text`"),
    ],
)
def test_a_judgement_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    folder = suite(tmp_path / "s", [{"id": "q1", "text": "a"}], [judged(), line])
    with pytest.raises(UsageError, match=message) as caught:
        load_dataset(folder)
    assert "judgements.jsonl:2: " in caught.value.what


def test_a_judgement_needs_a_source_where_the_suite_has_not_exactly_one(tmp_path: Path) -> None:
    folder = suite(tmp_path / "s", [{"id": "q1", "text": "a"}], [judged()])
    assert load_dataset(folder).spans["q1"][0].source == "aemps"
    (folder / "suite.toml").write_text('name = "n"\nversion = "1"\nsources = ["a", "b"]\n')
    with pytest.raises(UsageError, match="no source"):
        load_dataset(folder)


def test_the_last_word_of_each_judge_counts_and_the_lower_median_of_several() -> None:
    def said(judge: str, grade: int | None, start: int = 0) -> Judgement:
        return Judgement("q", "s", "d", start, start + 9, HASH, grade, judge)

    log = [said("a", 0), said("b", 3), said("a", 1), said("c", 2, 9), said("c", None, 9)]
    assert [s.grade for s in settled(log)["q"]] == [1], (
        "of 1 and 3 the lower; what was taken back is no judgement"
    )
    assert [s.grade for s in settled([*log, said("c", 2)])["q"]] == [2]
    assert list(latest([said("a", 1), said("a", 2, 9), said("a", 3)]).values()) == [
        said("a", 2, 9),
        said("a", 3),
    ]


def test_a_suite_judges_spans_or_documents(tmp_path: Path) -> None:
    folder = suite(
        tmp_path / "s",
        [{"id": "q1", "text": "a"}, {"id": "q2", "text": "b"}],
        [judged(grade=1), judged(start=20)],
    )
    dataset = load_dataset(folder)
    assert dataset.qrels == {"q1": {"d": 2}}, "for who ranks documents: the best grade"
    assert sorted(dataset.grades["q1"].values()) == [1, 2]
    assert (dataset.name, dataset.unjudged) == ("leaflets", ("q2",))
    (folder / "qrels.tsv").write_text("q1\td\t1\n")
    with pytest.raises(UsageError, match=r"judges spans in judgements\.jsonl and documents in qrels\.tsv"):
        load_dataset(folder)
    assert load_dataset(folder, qrels=folder / "qrels.tsv").grades == {"q1": {"d": 1}}
    (folder / "judgements.jsonl").unlink()
    assert load_dataset(folder).spans == {}
    with pytest.raises(UsageError, match=r"judges documents, in qrels\.tsv"):
        load_suite(folder)


def test_the_private_split_is_apart(tmp_path: Path) -> None:
    queries = [
        {"id": "q1", "text": "a", "facets": ["x"]},
        {"id": "q2", "text": "b", "split": "private", "facets": ["y"]},
    ]
    dataset = load_dataset(suite(tmp_path / "s", queries, [judged(), judged("q2")]))
    chosen, private = dataset.choosing, dataset.private
    assert private is not None
    assert (list(chosen.queries), list(private.queries)) == (["q1"], ["q2"])
    assert (set(chosen.qrels), set(chosen.spans), set(chosen.grades)) == ({"q1"},) * 3
    assert (chosen.facets, private.facets) == (("x",), ("y",))
    assert chosen.fingerprint == dataset.fingerprint
    assert chosen.private is None
    assert chosen.choosing is chosen


def test_a_folder_in_beir_layout_is_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "a", "split": "x", "metadata": {}}\n')
    (tmp_path / "qrels.tsv").write_text("q1\td\t1\n")
    dataset = load_dataset(tmp_path)
    assert dataset.choosing is dataset
    assert dataset.private is None
    assert dataset.request("q1") == QueryRequest("q1", "a")
    before = dataset.fingerprint
    (tmp_path / "suite.toml").write_text('name = "n"\nversion = "1"\n')
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "a", "facets": ["f"], "facts": ["5 mg"]}\n'
    )
    assert load_dataset(tmp_path).fingerprint == before, "facets change no ranking"
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "a", "as_of": "2024-01-01"}\n')
    assert load_dataset(tmp_path).fingerprint != before


def test_what_expects_a_refusal_is_asked_and_in_no_mean(tmp_path: Path) -> None:
    queries = [
        {"id": "q1", "text": "a"},
        {"id": "q2", "text": "b", "outcome": "nothing"},
        {"id": "q3", "text": "c", "outcome": "insufficient"},
        {"id": "q4", "text": "d"},
        {"id": "q5", "text": "e", "outcome": "insufficient"},
    ]
    lines = [judged(), judged("q3", 0), judged("q4", 0), judged("q5", 1)]
    dataset = load_dataset(suite(tmp_path / "s", queries, lines))
    assert list(dataset.asked) == ["q1", "q2", "q3", "q4", "q5"]
    assert list(dataset.judged) == ["q1", "q4", "q5"], "q3 has nothing relevant, and should not"
    assert (dataset.without_relevant, dataset.unjudged) == (("q4",), ())


def test_a_suite_on_another_source(tmp_path: Path) -> None:
    dataset = load_dataset(suite(tmp_path / "s", [{"id": "q1", "text": "a"}], [judged()]))
    moved = dataset.in_source("mine")
    assert (moved.spans["q1"][0].source, moved.sources) == ("mine", ("mine",))
    two = load_dataset(
        suite(tmp_path / "t", [{"id": "q1", "text": "a"}], [judged(), judged(start=9, source="b")])
    )
    with pytest.raises(UsageError, match="judges documents of aemps, b"):
        two.in_source("mine")


# The log


def line_of(grade: int) -> Judgement:
    return Judgement("q1", "s", "d", 0, 9, HASH, grade, "ana", datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC))


def test_a_line_is_read_as_it_was_written(tmp_path: Path) -> None:
    log = JudgementLog(tmp_path / "new" / "judgements.jsonl")
    log.add(line_of(2))
    log.add(Judgement("q1", "s", "d", 0, 9, HASH, None))
    assert read_judgements(log.path) == (line_of(2), Judgement("q1", "s", "d", 0, 9, HASH, None))


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_a_line_that_was_cut_off_is_dropped_and_no_other(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "judgements.jsonl"
    whole = judgement_line(line_of(1)) + "\n"
    path.write_text(whole + whole[:-cut] if cut > 1 else whole + whole[:-1])
    JudgementLog(path).add(line_of(3))
    grades = [j.grade for j in read_judgements(path)]
    assert grades == ([1, 3] if cut > 1 else [1, 1, 3])


def _add(path: Path, judge: str) -> None:
    log = JudgementLog(path)
    for start in range(200):
        log.add(Judgement("q", "s", "d", start, start + 9, HASH, 1, judge))


def test_two_judges_may_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add, args=(path, judge)) for judge in ("a", "b")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = read_judgements(path)
    assert {j.judge: sum(k.judge == j.judge for k in found) for j in found} == {"a": 200, "b": 200}


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").mkdir()
    with pytest.raises(UsageError, match=r"judgements\.jsonl: cannot be written"):
        JudgementLog(tmp_path / "judgements.jsonl").add(line_of(1))
