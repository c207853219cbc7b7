"""Suites made of what others wrote: BEIR folders, TREC topics and qrels, tables. Pure but for the files that are read.

What is imported judges documents. Spans come from traces, and from tables with columns for them: see `spans`.
"""

from __future__ import annotations

import csv
import gzip
import html
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from veraz.errors import UsageError
from veraz.evaluation.dataset import load_suite, read_queries
from veraz.evaluation.lines import fault, objects, text_lines, write_lines
from veraz.evaluation.qrels import GRADE, Qrels, read_qrels
from veraz.evaluation.suites import judgements as log
from veraz.evaluation.suites.manifest import FILE_NAME as MANIFEST
from veraz.evaluation.suites.manifest import write_manifest
from veraz.evaluation.suites.requests import request_line
from veraz.nouns.suite import DocumentKey, Imported, Judgement, Manifest, Passage, QueryRequest

QUERIES = "queries.jsonl"
QRELS = "qrels.tsv"


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A graded span whose text is still to be looked up. `revision` 0 is the current one. `where` names the line it comes
    from."""

    query_id: str
    source: str
    external_id: str
    revision: int
    start: int
    end: int
    grade: int
    where: str

    @property
    def place(self) -> tuple[str, str, int, int, int]:
        return self.source, self.external_id, self.revision, self.start, self.end


@dataclass(frozen=True, slots=True)
class SuiteDraft:
    """A suite that is not written yet: graded documents, or graded spans."""

    queries: Mapping[str, QueryRequest]
    qrels: Qrels = field(default_factory=dict)
    spans: tuple[SpanRow, ...] = ()
    splits: tuple[str, ...] = ("all",)
    warnings: tuple[str, ...] = ()


# BEIR


def from_beir(folder: Path) -> SuiteDraft:
    """queries.jsonl and every file of judgements: qrels.tsv, or qrels/*.tsv, whose names become splits. Raises UsageError,
    naming file and line."""
    texts = read_queries(_existing(folder, "queries.jsonl", "queries.jsonl.gz"))
    files = [folder / QRELS] if (folder / QRELS).is_file() else sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise UsageError(f"{folder}: neither qrels.tsv nor qrels/*.tsv", fix="give a folder in BEIR layout")
    qrels: Qrels = {}
    split_of: dict[str, str] = {}
    for file in files:
        for query_id, grades in read_qrels(file).items():
            if query_id in qrels:
                raise UsageError(
                    f"{file}: query {query_id!r} is judged in {split_of[query_id]}.tsv as well",
                    fix="keep the judgements of a query in one file",
                )
            qrels[query_id], split_of[query_id] = grades, file.stem
    splits = tuple(file.stem for file in files) if len(files) > 1 else ("all",)
    queries = {
        q: QueryRequest(q, text, split=split_of[q] if len(files) > 1 else "all")
        for q, text in texts.items()
        if q in qrels
    }
    return _checked(folder, queries, qrels, splits=splits, without=len(texts) - len(queries))


# TREC


def from_trec(topics: Path, qrels: Path) -> SuiteDraft:
    """Topics as SGML (`<top>`, `<num>`, `<title>` or `<query>`), as `<topic number="1">`, or as `number<TAB>text`; qrels as
    `number 0 document grade`. Raises UsageError, naming file and, where there is one, line."""
    texts = read_topics(topics)
    judged = read_qrels(qrels)
    queries = {q: QueryRequest(q, text) for q, text in texts.items() if q in judged}
    return _checked(qrels, queries, judged, without=len(texts) - len(queries))


def read_topics(path: Path) -> dict[str, str]:
    """Topic number → the question that it asks."""
    content = _text(path)
    pairs = list(_sgml(path, content) if re.search(r"<top(ic)?\b", content) else _tab_separated(path))
    topics: dict[str, str] = {}
    for number, query_id, text in pairs:
        if not query_id or not text:
            fault(path, number, f"topic {query_id!r} has no {'text' if query_id else 'number'}", TOPICS_FIX)
        if query_id in topics:
            fault(path, number, f"topic {query_id!r} is there twice", "give every topic a number of its own")
        topics[query_id] = text
    if not topics:
        raise UsageError(f"{path}: no topics", fix=TOPICS_FIX)
    return topics


TOPICS_FIX = "<top> with <num> and <title>, <topic number=…> with <query>, or number<TAB>text a line"
TOPIC = re.compile(
    r"<top(?P<ic>ic)?\b(?P<attributes>[^>]*)>(?P<body>.*?)(?=</top(?:ic)?>|<top(?:ic)?\b|\Z)", re.S | re.I
)
NUMBER = re.compile(r"\bnumber\s*=\s*[\"']([^\"']+)", re.I)
NUM = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.I)
ASKED = (
    re.compile(r"<(?:title|query)>\s*(?:Topic:)?(.*?)(?=<|\Z)", re.S | re.I),
    re.compile(r"<desc(?:ription)?>\s*(?:Description:)?(.*?)(?=<|\Z)", re.S | re.I),
)


def _sgml(path: Path, content: str) -> Iterator[tuple[int, str, str]]:  # noqa: ARG001
    for topic in TOPIC.finditer(content):
        number = NUMBER.search(topic["attributes"]) or NUM.search(topic["body"])
        texts = (asked.search(topic["body"]) for asked in ASKED)
        text = next((" ".join(html.unescape(t[1]).split()) for t in texts if t and t[1].strip()), "")
        yield content.count("\n", 0, topic.start()) + 1, number[1].strip() if number else "", text


def _tab_separated(path: Path) -> Iterator[tuple[int, str, str]]:
    for number, line in text_lines(path):
        query_id, tab, text = line.partition("\t")
        if not tab:
            fault(path, number, "no tab between number and text", TOPICS_FIX)
        yield number, query_id.strip(), " ".join(text.split())


# Tables

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query_id", "query-id", "qid", "id"),
    "text": ("question", "query", "text"),
    "external_id": ("external_id", "document", "doc_id", "docid", "corpus-id"),
    "grade": ("grade", "score", "relevance"),
    "source": ("source",),
    "start": ("start",),
    "end": ("end",),
    "lang": ("lang",),
    "facets": ("facets", "facet"),
    "split": ("split",),
}
"""What each column may be called. A row is one judgement; facets are separated by `;`."""
TABLE_FIX = (
    "columns question, external_id and grade; as you like query_id, source, start, end, lang, facets, split"
)


def from_csv(path: Path) -> SuiteDraft:
    """A table with a header row, separated by comma, semicolon or tab. Rows of one question agree in all that is said of it.
    Raises UsageError, naming file and line."""
    queries: dict[str, QueryRequest] = {}
    by_text: dict[str, str] = {}
    qrels: Qrels = {}
    spans: list[SpanRow] = []
    for number, row in _rows(path):
        query_id = row.get("query_id") or by_text.setdefault(row["text"], f"q{len(by_text) + 1}")
        request = _request_of(path, number, query_id, row)
        if queries.setdefault(query_id, request) != request:
            fault(
                path,
                number,
                f"query {query_id!r} is said otherwise than before",
                "repeat its text, lang, facets and split",
            )
        grade = _number(path, number, "grade", row["grade"])
        if "start" in row or "end" in row:
            start, end = (_number(path, number, name, row.get(name, "")) for name in ("start", "end"))
            source, where = row.get("source", ""), f"{path}:{number}"
            spans.append(SpanRow(query_id, source, row["external_id"], 0, start, end, grade, where))
        elif qrels.setdefault(query_id, {}).setdefault(row["external_id"], grade) != grade:
            fault(path, number, f"document {row['external_id']!r} is judged twice", "keep one grade for each")
    if spans and qrels:
        raise UsageError(
            f"{path}: some rows judge spans and some documents",
            fix="fill start and end in all rows or in none",
        )
    splits = tuple(dict.fromkeys(r.split for r in queries.values()))
    return _checked(path, queries, qrels, spans=spans, splits=splits)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows with their line numbers; keys are those of COLUMNS, and blank values are left out."""
    text = _text(path)
    first = text.split("\n", 1)[0]
    separator = max("\t;,", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        names = _names(path, next(reader, []))
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(names):
                fault(
                    path, reader.line_num, f"{len(cells)} fields where the header has {len(names)}", TABLE_FIX
                )
            row = {n: c.strip() for n, c in zip(names, cells, strict=False) if n and c.strip()}
            for name in ("text", "external_id", "grade"):
                if name not in row:
                    fault(path, reader.line_num, f"no {COLUMNS[name][0]}", TABLE_FIX)
            yield reader.line_num, row
    except csv.Error as error:
        fault(path, reader.line_num, str(error), "quote fields that hold separators or line ends")


def _names(path: Path, header: Sequence[str]) -> list[str]:
    of_spelling = {spelling: name for name, spellings in COLUMNS.items() for spelling in spellings}
    names = [of_spelling.get(cell.strip().lower().replace(" ", "_"), "") for cell in header]
    missing = [COLUMNS[n][0] for n in ("text", "external_id", "grade") if n not in names]
    unknown = [cell for cell, name in zip(header, names, strict=True) if not name]
    if missing or unknown:
        what = f"no column {missing[0]!r}" if missing else f"column {unknown[0]!r} is not known"
        fault(path, 1, what, TABLE_FIX)
    if twice := [name for name in names if names.count(name) > 1]:
        fault(path, 1, f"two columns for {twice[0]!r}", TABLE_FIX)
    return names


def _request_of(path: Path, number: int, query_id: str, row: Mapping[str, str]) -> QueryRequest:
    facets = tuple(f.strip() for f in row.get("facets", "").split(";") if f.strip())
    if len(set(facets)) != len(facets):
        fault(path, number, "a facet is named twice", "name each once")
    return QueryRequest(
        query_id, row["text"], row.get("lang", "auto"), facets=facets, split=row.get("split", "all")
    )


def _number(path: Path, number: int, name: str, value: str) -> int:
    if not GRADE.fullmatch(value):
        fault(path, number, f"{name} {value!r} is not a whole number", TABLE_FIX)
    return int(value)


# Traces

TRACE_FIX = (
    'one {"trace_id": …, "grades": {"1": 2, "3": 0}} or '
    '{"question": …, "chunks": [{"source", "external_id", "start", "end", "grade"}]} a line'
)


@dataclass(frozen=True, slots=True)
class GradedTrace:
    """A stored trace and the grades of its hits by rank, from 1; none: the chunks that its answer cites, with grade 2."""

    trace_id: str
    grades: Mapping[int, int]
    where: str


def from_traces(path: Path) -> tuple[tuple[GradedTrace, ...], SuiteDraft]:
    """Lines that name stored traces, to be looked up, and lines that say "this question, these chunks" themselves. A chunk
    without a grade has 2. Raises UsageError, naming file and line."""
    traces: list[GradedTrace] = []
    queries: dict[str, QueryRequest] = {}
    spans: list[SpanRow] = []
    for number, record in objects(path):
        if "trace_id" in record:
            traces.append(_graded(path, number, record))
            continue
        question, chunks = record.get("question"), record.get("chunks")
        if (
            not isinstance(question, str)
            or not question.strip()
            or not isinstance(chunks, list)
            or not chunks
        ):
            fault(path, number, "neither a trace_id nor a question with chunks", TRACE_FIX)
        query_id = str(record.get("query_id") or f"line-{number}")
        if query_id in queries:
            fault(path, number, f"query id {query_id!r} is used twice", "give every query an id of its own")
        queries[query_id] = QueryRequest(query_id, question)
        spans += [_chunk(path, number, query_id, chunk) for chunk in chunks]
    return tuple(traces), SuiteDraft(queries, spans=tuple(spans))


def _graded(path: Path, number: int, record: Mapping[str, object]) -> GradedTrace:
    grades, trace_id = record.get("grades", {}), record["trace_id"]
    if not isinstance(trace_id, str) or not trace_id or not isinstance(grades, dict):
        fault(path, number, "trace_id is an id, and grades are by rank", TRACE_FIX)
    for rank, grade in grades.items():
        if not re.fullmatch("[1-9][0-9]*", str(rank)) or type(grade) is not int or grade not in log.GRADES:
            fault(
                path, number, f"rank {rank!r} with grade {grade!r}", "ranks count from 1, grades are 0 to 3"
            )
    return GradedTrace(trace_id, {int(rank): grade for rank, grade in grades.items()}, f"{path}:{number}")


def _chunk(path: Path, number: int, query_id: str, chunk: object) -> SpanRow:
    if not isinstance(chunk, dict):
        fault(path, number, "a chunk is no object", TRACE_FIX)
    source, external_id = chunk.get("source"), chunk.get("external_id")
    start, end, revision, grade = (
        chunk.get(name, default)
        for name, default in (("start", -1), ("end", -1), ("revision", 0), ("grade", 2))
    )
    numbers = all(type(n) is int for n in (start, end, revision, grade))
    if not isinstance(source, str) or not isinstance(external_id, str) or not numbers:
        fault(path, number, "a chunk needs source, external_id, start and end", TRACE_FIX)
    return SpanRow(query_id, source, external_id, revision, start, end, grade, f"{path}:{number}")


# Writing


def with_source(rows: Iterable[SpanRow], sources: Sequence[str]) -> tuple[SpanRow, ...]:
    """Rows that name no source mean the only one of `sources`. Raises UsageError where there is not exactly one, for a span
    that holds nothing, and for a grade beyond 0 to 3."""
    made = []
    for row in rows:
        source = row.source or (sources[0] if len(sources) == 1 else "")
        if not source:
            raise UsageError(
                f"{row.where}: no source", fix="say it in the row, or for all of them: --source SLUG"
            )
        if not 0 <= row.start < row.end or row.grade not in log.GRADES:
            raise UsageError(
                f"{row.where}: span {row.start}–{row.end} with grade {row.grade}",
                fix="0 <= start < end, grades 0 to 3",
            )
        made.append(replace(row, source=source))
    return tuple(made)


def with_revision(rows: Iterable[SpanRow], current: Mapping[DocumentKey, int]) -> tuple[SpanRow, ...]:
    """Rows that name no revision mean the current one, where there is one."""
    return tuple(replace(r, revision=r.revision or current.get((r.source, r.external_id), 0)) for r in rows)


def judgements_of(rows: Iterable[SpanRow], texts: Iterable[Passage], judge: str) -> tuple[Judgement, ...]:
    """Raises UsageError for a span whose text is not there, or may not be read."""
    hashes = {(p.source, p.external_id, p.revision, p.start, p.end): p.sha256 for p in texts}
    made = []
    for row in rows:
        if row.place not in hashes:
            raise UsageError(
                f"{row.where}: no text at {row.start}–{row.end} of {row.external_id!r} in {row.source!r} that you may read",
                fix="ingest the document first, in that source; check --tenant and --roles",
            )
        made.append(
            Judgement(
                row.query_id,
                row.source,
                row.external_id,
                row.start,
                row.end,
                hashes[row.place],
                row.grade,
                judge,
            )
        )
    return tuple(made)


def write_suite(
    folder: Path, manifest: Manifest, draft: SuiteDraft, judgements: Sequence[Judgement] = ()
) -> Imported:
    """Writes a new suite, suite.toml last, so that half of one is none. Raises UsageError where there is a suite already."""
    if (folder / MANIFEST).exists():
        raise UsageError(f"{folder}: there is a suite already", fix="import into a new folder")
    write_lines(folder / QUERIES, (request_line(r, manifest) for r in draft.queries.values()))
    if draft.qrels:
        write_lines(folder / QRELS, _qrels_lines(draft.qrels))
    if judgements:
        write_lines(folder / log.FILE_NAME, map(log.judgement_line, judgements))
    write_manifest(folder, manifest)
    graded = len(judgements) + sum(map(len, draft.qrels.values()))
    return Imported(str(folder), len(draft.queries), graded, draft.warnings)


def add_to_suite(folder: Path, draft: SuiteDraft, judgements: Sequence[Judgement]) -> Imported:
    """Adds queries and judged spans to a suite that judges spans. A query that is there already keeps its line. Raises
    UsageError for an id that is there with another text."""
    suite = load_suite(folder)
    new = {q: r for q, r in draft.queries.items() if q not in suite.requests}
    for query_id, request in draft.queries.items():
        if query_id not in new and suite.requests[query_id].text != request.text:
            raise UsageError(
                f"{folder}: query {query_id!r} is there with another text",
                fix="give the imported query another id",
            )
    path = folder / QUERIES
    write_lines(
        path, [line for _, line in text_lines(path)] + [request_line(r, suite.manifest) for r in new.values()]
    )
    adding = log.JudgementLog(suite.log)
    for judgement in judgements:
        adding.add(judgement)
    return Imported(str(folder), len(new), len(judgements), draft.warnings)


def _qrels_lines(qrels: Qrels) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    for query_id, grades in qrels.items():
        for docid, grade in grades.items():
            yield f"{query_id}\t{docid}\t{grade}"


def _checked(
    place: Path,
    queries: Mapping[str, QueryRequest],
    qrels: Qrels,
    *,
    spans: Sequence[SpanRow] = (),
    splits: tuple[str, ...] = ("all",),
    without: int = 0,
) -> SuiteDraft:
    known = {q: grades for q, grades in qrels.items() if q in queries}
    if not queries or not (known or spans):
        raise UsageError(
            f"{place}: no query that is judged", fix="check that queries and judgements use the same ids"
        )
    warnings = []
    if without:
        warnings.append(f"{without} queries without judgements were left out")
    if len(known) < len(qrels):
        warnings.append(
            f"{len(qrels) - len(known)} judged queries that are not among the queries were left out"
        )
    return SuiteDraft(queries, known, tuple(spans), splits, tuple(warnings))


def _existing(folder: Path, *names: str) -> Path:
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", fix="give a folder in BEIR layout")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"{folder}: no {' or '.join(names)}", fix="give a folder in BEIR layout")


def _text(path: Path) -> str:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error}", fix="check the file and its permissions"
        ) from error
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault(path, line, "not UTF-8", "save the file as UTF-8")
