"""Datasets in BEIR layout: what is read, and what each fault says."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from veraz.errors import UsageError
from veraz.evaluation.dataset import load_dataset, read_queries, scan_corpus
from veraz.evaluation.qrels import read_qrels

QUERIES = """{"_id": "q1", "text": "dose of A"}
{"id": 2, "text": "dose of B"}
{"id": "q3", "text": "never judged"}
"""
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n2\td 3\t-1\n"
CORPUS = '{"_id": "d1", "title": "A", "text": "a"}\n{"_id": "d2", "text": "b"}\n{"_id": "d 3", "text": "c"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mini"
    folder.mkdir()
    (folder / "queries.jsonl").write_text(QUERIES)
    (folder / "qrels.tsv").write_text(QRELS)
    (folder / "corpus.jsonl").write_text(CORPUS)
    return folder


def test_a_folder_is_read_whole(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert dataset.name == "mini"
    assert dataset.queries == {"q1": "dose of A", "2": "dose of B", "q3": "never judged"}
    assert dataset.qrels == {"q1": {"d1": 2, "d2": 0}, "2": {"d 3": -1}}
    assert dataset.corpus_path == folder / "corpus.jsonl"
    assert dataset.documents == 3
    assert dataset.unjudged == ("q3",)
    assert dataset.without_relevant == ("2",)
    assert list(dataset.judged) == ["q1", "2"]
    assert dataset.relevant() == {"d1"}
    assert dataset.warnings == ()


def test_compressed_files_byte_order_marks_and_windows_line_ends_read_the_same(
    folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "mini"
    (other / "qrels").mkdir(parents=True)
    (other / "queries.jsonl.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbf" + QUERIES.replace("\n", "\r\n").encode())
    )
    (other / "qrels" / "test.tsv").write_bytes(b"\xef\xbb\xbf" + QRELS.replace("\n", "\r\n\r\n").encode())
    (other / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS.encode()))
    plain, packed = load_dataset(folder), load_dataset(other)
    assert packed.corpus_path == other / "corpus.jsonl.gz"
    assert replace(packed, corpus_path=plain.corpus_path) == plain


def test_a_folder_without_corpus_is_evaluated_on_what_is_ingested(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    dataset = load_dataset(folder)
    assert dataset.corpus_path is None
    assert dataset.documents is None


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("queries.jsonl", "dose of A", "dose of a"),
        ("qrels.tsv", "\t2", "\t3"),
        ("corpus.jsonl", '"b"', '"x"'),
    ],
)
def test_the_fingerprint_changes_with_each_part(folder: Path, name: str, old: str, new: str) -> None:
    before = load_dataset(folder).fingerprint
    path = folder / name
    path.write_text(path.read_text().replace(old, new, 1))
    assert load_dataset(folder).fingerprint != before


def test_the_fingerprint_ignores_the_order_of_judgements(folder: Path) -> None:
    before = load_dataset(folder).fingerprint
    (folder / "qrels.tsv").write_text("2\td 3\t-1\nq1\td2\t0\nq1\td1\t2\n")
    assert load_dataset(folder).fingerprint == before


def test_other_judgements_can_be_named(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "trec.txt"
    other.write_text("q3 0 d1 1\n")
    dataset = load_dataset(folder, qrels=other)
    assert dataset.qrels == {"q3": {"d1": 1}}
    assert dataset.unjudged == ("q1", "2")


def test_judgements_of_unknown_queries_are_counted_not_scored(folder: Path) -> None:
    with (folder / "qrels.tsv").open("a") as stream:
        stream.write("lost\td1\t1\nlost\td2\t1\n")
    dataset = load_dataset(folder)
    assert dataset.unknown_queries == ("lost",)
    assert "lost" not in dataset.qrels
    [warning] = dataset.warnings
    assert "2 judgements of 1 unknown queries ignored (lost)" in warning


def test_judged_documents_that_the_corpus_lacks_are_named(folder: Path) -> None:
    with (folder / "qrels.tsv").open("a") as stream:
        stream.writelines(f"q1\tgone{i}\t1\n" for i in range(7))
    [warning] = load_dataset(folder).warnings
    assert "7 judged documents are not in the corpus (gone0, gone1, gone2, gone3, gone4, …)" in warning


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1\td1", ":2: 2 fields where 3 are expected"),
        ("q1\td1\t1\t1\t1", ":2: 5 fields where 3 are expected"),
        ("q1\t\t1", ":2: 3 fields where 3 are expected"),
        ("q1\td1\tgood", ":2: grade 'good' is not a whole number"),
        ("q1\td1\t1.5", ":2: grade '1.5' is not a whole number"),
        ("q1\td1\tnan", ":2: grade 'nan' is not a whole number"),
        ("q0\td0\t2", ":2: query 'q0', document 'd0' judged twice: 1 and 2"),
        ("query-id\tcorpus-id\tscore", ":2: grade 'score' is not a whole number"),
    ],
)
def test_a_bad_judgement_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(f"q0\td0\t1\n{line}\n")
    with pytest.raises(UsageError) as error:
        read_qrels(path)
    assert f"{path}{message}" in str(error.value)
    assert "fix:" in str(error.value)


def test_a_judgement_repeated_with_the_same_grade_is_one_judgement(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("q\td\t1\nq\td\t1\n")
    assert read_qrels(path) == {"q": {"d": 1}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "q0", "text": "again"}', ":2: query id 'q0' is used twice"),
        ('{"text": "no id"}', ":2: no usable id"),
        ('{"id": "", "text": "x"}', ":2: no usable id"),
        ('{"id": true, "text": "x"}', ":2: no usable id"),
        ('{"id": "q1"}', ":2: query 'q1' has no text"),
        ('{"id": "q1", "text": "  "}', ":2: query 'q1' has no text"),
        ('{"id": "q1", "text": 3}', ":2: query 'q1' has no text"),
        ("[1]", ":2: not a JSON object"),
        ("{", ":2: not a JSON object"),
    ],
)
def test_a_bad_query_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"id": "q0", "text": "first"}}\n{line}\n')
    with pytest.raises(UsageError) as error:
        read_queries(path)
    assert f"{path}{message}" in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "d0"}', ":2: document id 'd0' is used twice"),
        ('{"title": "x"}', ":2: no usable id"),
        ("oops", ":2: not a document"),
    ],
)
def test_a_bad_document_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(f'{{"_id": "d0", "text": "x"}}\n{line}\n')
    with pytest.raises(UsageError) as error:
        scan_corpus(path)
    assert f"{path}{message}" in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("queries.jsonl", None, "no queries.jsonl or queries.jsonl.gz"),
        ("queries.jsonl", b"", "no queries"),
        ("queries.jsonl", b'\xff{"id": "q1"}\n', "queries.jsonl:1: not a JSON object"),
        ("qrels.tsv", None, "neither qrels.tsv nor qrels/test.tsv; found dev.tsv"),
        ("qrels.tsv", b"query-id\tcorpus-id\tscore\n", "no judgements"),
        ("qrels.tsv", b"q1\td\xff\t1\n", "qrels.tsv:1: not UTF-8"),
        ("qrels.tsv", b"other\td1\t1\n", "none of its 1 queries is in"),
    ],
)
def test_a_folder_that_cannot_be_used_says_why(
    folder: Path, name: str, content: bytes | None, message: str
) -> None:
    (folder / "dev.tsv").write_text("q1\td1\t1\n")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load_dataset(folder)


def test_a_cut_archive_is_an_error_and_not_a_short_file(folder: Path) -> None:
    (folder / "queries.jsonl").unlink()
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress(QUERIES.encode())[:-12])
    with pytest.raises(UsageError, match=r"queries\.jsonl\.gz:\d+: cannot be read"):
        load_dataset(folder)


def test_paths_that_do_not_exist(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        load_dataset(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no such file"):
        load_dataset(folder, qrels=tmp_path / "nowhere.tsv")


def test_real_collections(shared: Path) -> None:
    med = load_dataset(shared / "data" / "med")
    assert (med.documents, len(med.judged), med.warnings, med.unjudged) == (1033, 30, (), ())
    liveqa = shared / "data" / "liveqa_medquad"
    with pytest.raises(UsageError, match=r"found qrels_open_subset\.tsv"):
        load_dataset(liveqa)
    open_subset = load_dataset(liveqa, qrels=liveqa / "qrels_open_subset.tsv")
    assert (len(open_subset.queries), len(open_subset.judged), len(open_subset.without_relevant)) == (
        104,
        86,
        26,
    )
