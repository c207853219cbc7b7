"""Suites from elsewhere: what is read, what is written, and that a fault names file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from uuid import UUID

import pytest

from veraz.errors import UsageError
from veraz.evaluation.dataset import load_dataset
from veraz.evaluation.suites.importing import (
    GradedTrace,
    SpanRow,
    SuiteDraft,
    from_beir,
    from_csv,
    from_traces,
    from_trec,
    judgements_of,
    read_topics,
    with_source,
    write_suite,
)
from veraz.evaluation.suites.traced import of_traces
from veraz.nouns.suite import Manifest, QueryRequest
from veraz.nouns.trace import Trace

MANIFEST = Manifest("n", "1", sources=("s",))


def file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# BEIR


def test_a_beir_folder_with_several_splits(tmp_path: Path) -> None:
    beir = tmp_path / "beir"
    file(
        beir / "queries.jsonl",
        '{"_id": "1", "text": "a", "metadata": {}}\n{"_id": "2", "text": "b"}\n{"_id": "3", "text": "c"}\n',
    )
    file(beir / "qrels/dev.tsv", "query-id\tcorpus-id\tscore\n1\tx\t1\n")
    file(beir / "qrels/test.tsv", "query-id\tcorpus-id\tscore\n2\ty z\t2\n2\tw\t0\n9\tx\t1\n")
    draft = from_beir(beir)
    assert draft.warnings == (
        "1 queries without judgements were left out",
        "1 judged queries that are not among the queries were left out",
    )
    imported = write_suite(tmp_path / "suite", Manifest("n", "1", splits=draft.splits), draft)
    assert (imported.queries, imported.judgements) == (2, 3)
    dataset = load_dataset(tmp_path / "suite")
    assert dataset.qrels == {"1": {"x": 1}, "2": {"y z": 2, "w": 0}}
    assert {q: r.split for q, r in dataset.requests.items()} == {"1": "dev", "2": "test"}
    with pytest.raises(UsageError, match="there is a suite already"):
        write_suite(tmp_path / "suite", MANIFEST, draft)


def test_a_beir_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        from_beir(tmp_path / "none")
    with pytest.raises(UsageError, match=r"no queries\.jsonl or"):
        from_beir(tmp_path)
    file(tmp_path / "queries.jsonl", '{"_id": "1", "text": "a"}\n')
    with pytest.raises(UsageError, match=r"neither qrels\.tsv nor"):
        from_beir(tmp_path)
    file(tmp_path / "qrels/a.tsv", "1\tx\t1\n")
    file(tmp_path / "qrels/b.tsv", "1\ty\t1\n")
    with pytest.raises(UsageError, match=r"query '1' is judged in a\.tsv as well"):
        from_beir(tmp_path)
    (tmp_path / "qrels/b.tsv").unlink()
    file(tmp_path / "qrels/a.tsv", "1\tx\t1\n1\ty\tgood\n")
    with pytest.raises(UsageError, match=r"a\.tsv:2: grade 'good'"):
        from_beir(tmp_path)


# TREC

OLD = """<top>
<num> Number: 301
<title> International &amp; Organized Crime

<desc> Description:
Identify organizations.
</top>

<top>
<num> Number: 302 </num>
<desc> Description: Is it controlled?
</top>
"""


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (OLD, {"301": "International & Organized Crime", "302": "Is it controlled?"}),
        (
            '<topics>\n<topic number="1" type="x">\n<query>one\n two</query><description>d</description></topic>\n'
            "<topic number='2'><description>other</description></topic></topics>",
            {"1": "one two", "2": "other"},
        ),
        ("1\tone  two\n2\tthree < four\n", {"1": "one two", "2": "three < four"}),
    ],
)
def test_topics(tmp_path: Path, text: str, topics: dict[str, str]) -> None:
    assert read_topics(file(tmp_path / "topics.txt", text)) == topics
    (tmp_path / "topics.gz").write_bytes(gzip.compress(text.encode()))
    assert read_topics(tmp_path / "topics.gz") == topics


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<top>\n<num>1\n<title>a\n</top>\n<top>\n<num> Number: 2\n</top>",
            r"topics\.txt:5: topic '2' has no text",
        ),
        ("<top>\n<title>a\n</top>", r"topics\.txt:1: topic '' has no number"),
        ("1\ta\n1\tb\n", r"topics\.txt:2: topic '1' is there twice"),
        ("1\ta\nno tab here\n", r"topics\.txt:2: no tab"),
        ("1\t \n", r"topics\.txt:1: topic '1' has no text"),
        ("", "no topics"),
    ],
)
def test_topics_that_are_wrong_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_topics(file(tmp_path / "topics.txt", text))


def test_topics_and_qrels_make_a_suite(tmp_path: Path) -> None:
    qrels = file(tmp_path / "qrels.txt", "301 0 FBIS-1 1\n301 0 FT-2 0\n")
    draft = from_trec(file(tmp_path / "topics.txt", OLD), qrels)
    assert draft.warnings == ("1 queries without judgements were left out",)
    write_suite(tmp_path / "suite", MANIFEST, draft)
    assert load_dataset(tmp_path / "suite").qrels == {"301": {"FBIS-1": 1, "FT-2": 0}}
    with pytest.raises(UsageError, match="no query that is judged"):
        from_trec(file(tmp_path / "other.txt", "7\tseven\n"), qrels)
    (tmp_path / "latin.txt").write_bytes(b"1\ta\n2\tdosificaci\xf3n\n")
    with pytest.raises(UsageError, match=r"latin\.txt:2: not UTF-8"):
        from_trec(tmp_path / "latin.txt", qrels)


def test_real_topics_of_a_conversational_track(shared: Path) -> None:
    data = shared / "data/conversational"
    topics = data / "cast-2019-data-evaluation-evaluation_topics_annotated_resolved_v1.0.tsv.gz"
    draft = from_trec(topics, data / "cast-2019-data-2019qrels.txt.gz")
    assert len(draft.queries) == len(draft.qrels) > 100
    assert all(len(r.text.split()) > 1 for r in draft.queries.values())


# Tables


def test_a_table_of_documents(tmp_path: Path) -> None:
    table = file(
        tmp_path / "t.csv",
        '\ufeffQuestion;Document;Grade;Facets;lang\n"How long; and why?";burns.md;2;table; en\n'
        '"How long; and why?";colds.md;0;table;en\n\nWhat else?;"a ""b"".md";1;;\n',
    )
    draft = from_csv(table)
    assert draft.queries == {
        "q1": QueryRequest("q1", "How long; and why?", lang="en", facets=("table",)),
        "q2": QueryRequest("q2", "What else?"),
    }
    assert draft.qrels == {"q1": {"burns.md": 2, "colds.md": 0}, "q2": {'a "b".md': 1}}
    write_suite(tmp_path / "suite", MANIFEST, draft)
    assert load_dataset(tmp_path / "suite").requests["q1"] == draft.queries["q1"]


def test_a_table_of_spans(tmp_path: Path) -> None:
    table = file(
        tmp_path / "t.tsv", "qid\tquery\tdocid\tscore\tsource\tstart\tend\nx\tWhy?\td\t3\ts\t10\t20\n"
    )
    assert from_csv(table).spans == (SpanRow("x", "s", "d", 0, 10, 20, 3, f"{table}:2"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,document\na,b\n", r"t\.csv:1: no column 'grade'"),
        ("question,document,grade,colour\n", r"t\.csv:1: column 'colour' is not known"),
        ("question,query,document,grade\n", r"t\.csv:1: two columns for 'text'"),
        ("question,document,grade\na,b,1\na,b,high\n", r"t\.csv:3: grade 'high' is not a whole number"),
        ("question,document,grade\na,b,1\na,b,2\n", r"t\.csv:3: document 'b' is judged twice"),
        ("question,document,grade\na,,1\n", r"t\.csv:2: no external_id"),
        ("question,document,grade\na,b,1,c\n", r"t\.csv:2: 4 fields where the header has 3"),
        ("qid,question,document,grade\n1,a,b,1\n1,z,b,1\n", r"t\.csv:3: query '1' is said otherwise"),
        ("question,document,grade,start,end\na,b,1,5,\n", r"t\.csv:2: end '' is not a whole number"),
        (
            "question,document,grade,start,end\na,b,1,5,9\na,c,1,,\n",
            "some rows judge spans and some documents",
        ),
        ('question,document,grade\n"a,b,1\n', r"t\.csv:\d: unexpected end of data"),
        ("question,document,grade\n", "no query that is judged"),
        ("", r"t\.csv:1: no column 'question'|t\.csv:1: no column 'query_id'|no column"),
    ],
)
def test_a_table_that_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_csv(file(tmp_path / "t.csv", text))


def test_spans_need_a_source_and_a_text() -> None:
    row = SpanRow("q", "", "d", 0, 5, 9, 2, "t.csv:2")
    assert with_source([row], ("s",))[0].source == "s"
    with pytest.raises(UsageError, match=r"t\.csv:2: no source"):
        with_source([row], ("a", "b"))
    with pytest.raises(UsageError, match=r"t\.csv:2: span 9–9"):
        with_source([SpanRow("q", "s", "d", 0, 9, 9, 2, "t.csv:2")], ())
    with pytest.raises(UsageError, match=r"t\.csv:2: no text at 5–9 of 'd' in 's' that you may read"):
        judgements_of(with_source([row], ("s",)), [], "x")


# Traces

ID = UUID(int=7)


def trace(**record: object) -> Trace:
    from datetime import UTC, datetime

    hits = [
        {"rank": n, "source": "s", "external_id": f"d{n}", "revision": 1, "start": 10 * n, "end": 10 * n + 10}
        for n in (1, 2, 3)
    ]
    return Trace(ID, "ask", datetime.now(UTC), ("public",), "Why?", "answered", {"hits": hits, **record})


def test_graded_hits_of_a_trace_become_judgements() -> None:
    draft = of_traces([(GradedTrace("7", {1: 2, 3: 0}, "7"), trace(as_of="2024-05-01"))])
    [(query_id, request)] = draft.queries.items()
    assert (query_id, request.text, str(request.as_of)) == (f"trace-{ID}", "Why?", "2024-05-01")
    assert [(s.external_id, s.start, s.end, s.grade) for s in draft.spans] == [
        ("d1", 10, 20, 2),
        ("d3", 30, 40, 0),
    ]


def test_without_grades_what_the_answer_cites_has_answered() -> None:
    cited = {"source": "s", "external_id": "d2", "revision": 1, "start": 22, "end": 28}
    draft = of_traces([(GradedTrace("7", {}, "7"), trace(citations=[cited]))])
    assert [(s.external_id, s.grade) for s in draft.spans] == [("d2", 2)]
    with pytest.raises(UsageError, match="cites nothing"):
        of_traces([(GradedTrace("7", {}, "7"), trace())])
    with pytest.raises(UsageError, match="has no hit 4"):
        of_traces([(GradedTrace("7", {4: 1}, "7"), trace())])


def test_a_file_of_traces(tmp_path: Path) -> None:
    lines = [
        {"trace_id": "abc", "grades": {"1": 2}},
        {
            "question": "Why?",
            "chunks": [{"source": "s", "external_id": "d", "start": 0, "end": 5, "grade": 1}],
        },
        {
            "query_id": "x",
            "question": "How?",
            "chunks": [{"source": "s", "external_id": "d", "start": 0, "end": 5}],
        },
    ]
    path = file(tmp_path / "t.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    traces, draft = from_traces(path)
    assert traces == (GradedTrace("abc", {1: 2}, f"{path}:1"),)
    assert list(draft.queries) == ["line-2", "x"]
    assert [(s.query_id, s.revision, s.grade) for s in draft.spans] == [("line-2", 0, 1), ("x", 0, 2)]


@pytest.mark.parametrize(
    "line",
    [
        {"trace_id": 5},
        {"trace_id": "a", "grades": {"0": 1}},
        {"trace_id": "a", "grades": {"1": 4}},
        {"trace_id": "a", "grades": {"1": True}},
        {"question": "Why?"},
        {"question": " ", "chunks": [{}]},
        {"question": "Why?", "chunks": [7]},
        {"question": "Why?", "chunks": [{"source": "s", "external_id": "d", "start": "0", "end": 5}]},
    ],
)
def test_a_line_of_traces_that_is_wrong_is_named(tmp_path: Path, line: dict[str, object]) -> None:
    path = file(tmp_path / "t.jsonl", '{"trace_id": "a"}\n' + json.dumps(line) + "\n")
    with pytest.raises(UsageError, match=r"t\.jsonl:2: "):
        from_traces(path)


def test_nothing_is_written_for_a_draft_without_a_place(tmp_path: Path) -> None:
    blocked = file(tmp_path / "file", "x")
    with pytest.raises(UsageError, match="cannot be written"):
        write_suite(blocked / "suite", MANIFEST, SuiteDraft({"q": QueryRequest("q", "t")}))
