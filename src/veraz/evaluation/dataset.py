"""A judged collection: a folder in BEIR layout (corpus.jsonl[.gz], queries.jsonl[.gz], qrels.tsv or qrels/test.tsv), or a
suite, which has a suite.toml besides and may judge spans (judgements.jsonl) in place of documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, identifier, numbered_lines, objects
from veraz.evaluation.qrels import Qrels, read_qrels
from veraz.evaluation.suites import judgements as spans_of
from veraz.evaluation.suites.manifest import is_suite, read_manifest
from veraz.evaluation.suites.requests import read_requests
from veraz.nouns.suite import PRIVATE, JudgedSpan, Judgement, Manifest, QueryRequest

LAYOUT = "a folder with queries.jsonl[.gz], qrels.tsv (or --qrels FILE) and, to be loaded, corpus.jsonl[.gz]"
NAMED = 5  # how many ids a warning spells out
REFUSALS = ("insufficient", "nothing", "routed")
"""Outcomes of questions that nothing is to be found for."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """`queries` maps id to text in file order; `qrels` judges only queries that are known.

    `unjudged` lists queries without any judgement line: they are neither searched nor part of a mean.
    `without_relevant` lists judged queries with no grade above 0: they count, as 0 (the rule of trec_eval and
    ir_measures, so that other tools re-score a run to the same figures). `fingerprint` is the sha256 of
    queries, judgements and corpus: equal fingerprints mean comparable runs. `documents` is None without a
    corpus.

    Of a suite, `requests` says how each query is asked, and `spans` holds its judged spans where it judges
    these: `qrels` has then the best grade of each document, for who ranks documents, and `grades` what is
    scored. Queries that expect a refusal and have nothing relevant are in `requests` alone: there is nothing to
    find, so they count in the agreement on outcomes and in no mean.
    """

    name: str
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    corpus_path: Path | None
    fingerprint: str
    documents: int | None = None
    unjudged: tuple[str, ...] = ()
    without_relevant: tuple[str, ...] = ()
    unknown_queries: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    requests: Mapping[str, QueryRequest] = field(default_factory=dict)
    spans: Mapping[str, tuple[JudgedSpan, ...]] = field(default_factory=dict)
    manifest: Manifest | None = None

    @property
    def choosing(self) -> Dataset:
        """Without the private split: what gates, comparisons and sweeps may see. The fingerprint stays."""
        return self._only(lambda request: request.split != PRIVATE)

    @property
    def private(self) -> Dataset | None:
        """The private split alone; None where there is none."""
        kept = self._only(lambda request: request.split == PRIVATE)
        return kept if kept.queries else None

    def facet(self, name: str) -> Dataset:
        """The queries of one facet."""
        return self._only(lambda request: name in request.facets)

    @property
    def facets(self) -> tuple[str, ...]:
        """Every facet, in the order in which queries name them."""
        return tuple(dict.fromkeys(f for q in self.queries for f in self.request(q).facets))

    def request(self, query_id: str) -> QueryRequest:
        """How the query is asked; a BEIR folder has nothing but its text."""
        return self.requests.get(query_id) or QueryRequest(query_id, self.queries[query_id])

    @property
    def grades(self) -> Mapping[str, Mapping[str, int]]:
        """Query id → unit → grade, a unit being a judged span or else a document."""
        return spans_of.unit_grades(self.spans) if self.spans else self.qrels

    @property
    def asked(self) -> dict[str, QueryRequest]:
        """What is searched: judged queries, and those that expect an outcome. In file order."""
        every = {query_id: self.request(query_id) for query_id in self.queries}
        return {q: request for q, request in every.items() if q in self.qrels or request.outcome}

    @property
    def sources(self) -> tuple[str, ...]:
        """Where its searches look; everywhere for a BEIR folder."""
        return self.manifest.sources if self.manifest else ()

    def in_source(self, source: str) -> Dataset:
        """The same judgements on another source: for who ingested the documents under another slug. Raises UsageError for
        a suite over several."""
        named = {span.source for found in self.spans.values() for span in found}
        named |= set(self.sources)
        if len(named) > 1:
            raise UsageError(
                f"suite {self.name} judges documents of {', '.join(sorted(named))}",
                fix="evaluate it on these as they are ingested, without --source and without a corpus of its own",
            )
        moved = {q: tuple(replace(s, source=source) for s in found) for q, found in self.spans.items()}
        manifest = replace(self.manifest, sources=(source,)) if self.manifest else None
        return replace(self, spans=moved, manifest=manifest)

    def _only(self, wanted: Callable[[QueryRequest], bool]) -> Dataset:
        kept = {q for q in self.queries if wanted(self.request(q))}
        if len(kept) == len(self.queries):
            return self
        return replace(
            self,
            queries={q: text for q, text in self.queries.items() if q in kept},
            qrels={q: grades for q, grades in self.qrels.items() if q in kept},
            requests={q: request for q, request in self.requests.items() if q in kept},
            spans={q: found for q, found in self.spans.items() if q in kept},
            unjudged=tuple(q for q in self.unjudged if q in kept),
            without_relevant=tuple(q for q in self.without_relevant if q in kept),
        )

    @property
    def tenant(self) -> str:
        """The slug of the tenant that its corpus is loaded into: equal fingerprints share one."""
        kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.name.lower()).strip("-")
        return f"eval-{kept[:40] or 'set'}-{self.fingerprint[:8]}"

    @property
    def judged(self) -> dict[str, str]:
        """The queries that are searched and counted, in file order."""
        return {query_id: text for query_id, text in self.queries.items() if query_id in self.qrels}

    def relevant(self) -> frozenset[str]:
        """Ids of all documents that are relevant to some query."""
        return frozenset(d for grades in self.qrels.values() for d, grade in grades.items() if grade > 0)


def load_dataset(folder: Path, *, qrels: Path | None = None) -> Dataset:
    """Reads a folder; `qrels` replaces its judgements. Raises UsageError, naming file and line, for what is
    missing or wrong.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", fix=f"give {LAYOUT}")
    path = _one_of(folder, "queries.jsonl", "queries.jsonl.gz")
    manifest = read_manifest(folder) if is_suite(folder) else None
    requests = read_requests(path, manifest) if manifest else {}
    queries = {q: r.text for q, r in requests.items()} if manifest else read_queries(path)
    judged = _judged(folder, manifest, qrels)
    unknown = tuple(query_id for query_id in judged.qrels if query_id not in queries)
    known = {
        q: judged.qrels[q] for q in queries if q in judged.qrels and not _refusal(q, requests, judged.qrels)
    }
    spans = {query_id: judged.spans[query_id] for query_id in known if query_id in judged.spans}
    if not known and not any(request.outcome for request in requests.values()):
        raise UsageError(
            f"{judged.path}: none of its {len(judged.qrels)} queries is in {folder}",
            fix="check that judgements and queries use the same ids",
        )
    corpus_path = next((p for n in ("corpus.jsonl", "corpus.jsonl.gz") if (p := folder / n).is_file()), None)
    corpus = scan_corpus(corpus_path) if corpus_path else None
    return Dataset(
        name=manifest.name if manifest else folder.resolve().name,
        queries=queries,
        qrels=known,
        corpus_path=corpus_path,
        fingerprint=_fingerprint(queries, known, corpus.digest if corpus else "", requests, spans),
        documents=len(corpus.ids) if corpus else None,
        unjudged=tuple(q for q in queries if q not in known and not _refusal(q, requests, judged.qrels)),
        without_relevant=tuple(q for q, grades in known.items() if max(grades.values()) < 1),
        unknown_queries=unknown,
        warnings=_warnings(judged.path, judged.qrels, unknown, known, corpus),
        requests=requests,
        spans=spans,
        manifest=manifest,
    )


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """A suite as it is judged: it may have no judgements yet. `judgements` are the lines of its log."""

    folder: Path
    manifest: Manifest
    requests: Mapping[str, QueryRequest]
    judgements: tuple[Judgement, ...]

    @property
    def log(self) -> Path:
        return self.folder / spans_of.FILE_NAME


def load_suite(folder: Path) -> SuiteFolder:
    """Raises UsageError, naming file and line, for what is missing or wrong, and for a suite that judges documents."""
    if not is_suite(folder):
        raise UsageError(
            f"{folder}: no suite.toml",
            fix="write one (see docs/how-to/suites.md), or make a suite: veraz eval import",
        )
    manifest = read_manifest(folder)
    requests = read_requests(_one_of(folder, "queries.jsonl", "queries.jsonl.gz"), manifest)
    log = folder / spans_of.FILE_NAME
    if not log.is_file() and (documents := _qrels_path(folder)):
        raise UsageError(
            f"{folder}: judges documents, in {documents.name}",
            fix="passages are judged in a suite of their own: leave that file out of it",
        )
    judgements = spans_of.read_judgements(log, manifest.sources) if log.is_file() else ()
    return SuiteFolder(folder, manifest, requests, judgements)


@dataclass(frozen=True, slots=True)
class _Judged:
    path: Path
    qrels: Qrels
    spans: Mapping[str, tuple[JudgedSpan, ...]] = field(default_factory=dict)


def _judged(folder: Path, manifest: Manifest | None, given: Path | None) -> _Judged:
    """The judgements, of documents or of spans. A suite has either, and none where it only expects outcomes."""
    if given:
        return _Judged(given, read_qrels(_given_qrels(given)))
    log = folder / spans_of.FILE_NAME
    if manifest is None:
        path = find_qrels(folder)
        return _Judged(path, read_qrels(path))
    documents = _qrels_path(folder)
    if log.is_file() and documents:
        raise UsageError(
            f"{folder}: judges spans in {log.name} and documents in {documents.name}",
            fix="keep one of them, or name the judgements with --qrels FILE",
        )
    if documents:
        return _Judged(documents, read_qrels(documents))
    if not log.is_file():
        return _Judged(log, {})
    spans = spans_of.settled(spans_of.read_judgements(log, manifest.sources))
    return _Judged(log, spans_of.document_grades(spans), spans)


def _refusal(query_id: str, requests: Mapping[str, QueryRequest], qrels: Qrels) -> bool:
    """Whether the query expects a refusal and nothing is relevant to it."""
    request = requests.get(query_id)
    if request is None or request.outcome not in REFUSALS:
        return False
    return max(qrels.get(query_id, {}).values(), default=0) < 1


def _qrels_path(folder: Path) -> Path | None:
    return next((p for name in ("qrels.tsv", "qrels/test.tsv") if (p := folder / name).is_file()), None)


def read_queries(path: Path) -> dict[str, str]:
    """Query id → text. Raises UsageError for a duplicate id, a blank text or a line that is not a JSON
    object.
    """
    queries: dict[str, str] = {}
    for number, record in objects(path):
        query_id = identifier(path, number, record)
        text = record.get("text")
        if not isinstance(text, str) or not text.strip():
            fault(path, number, f"query {query_id!r} has no text", "give every query a `text`")
        if query_id in queries:
            fault(path, number, f"query id {query_id!r} is used twice", "give every query an id of its own")
        queries[query_id] = text
    if not queries:
        raise UsageError(f"{path}: no queries", fix='one {"id": …, "text": …} a line')
    return queries


def find_qrels(folder: Path) -> Path:
    """qrels.tsv, else qrels/test.tsv. Raises UsageError listing the judgement files that are there
    instead.
    """
    if path := _qrels_path(folder):
        return path
    others = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.tsv"))
    found = f"; found {', '.join(others)}" if others else ""
    raise UsageError(
        f"{folder}: neither qrels.tsv nor qrels/test.tsv{found}", fix="name the judgements with --qrels FILE"
    )


@dataclass(frozen=True, slots=True)
class _Corpus:
    ids: frozenset[str]
    digest: str


class _CorpusLine(msgspec.Struct):
    """Only the id is decoded: collections can be large."""

    id: str | int | None = None
    beir_id: str | int | None = msgspec.field(name="_id", default=None)


def scan_corpus(path: Path) -> _Corpus:
    """Reads a corpus once for its ids and a sha256 of its lines. Raises UsageError for a bad line or a
    duplicate id.
    """
    decoder, digest = msgspec.json.Decoder(_CorpusLine), hashlib.sha256()
    ids: set[str] = set()
    for number, line in numbered_lines(path):
        digest.update(line + b"\n")
        try:
            record = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            fault(path, number, f"not a document: {error}", 'one {"id": …, "title": …, "text": …} a line')
        docid = identifier(path, number, {"id": record.id if record.beir_id is None else record.beir_id})
        if docid in ids:
            fault(
                path, number, f"document id {docid!r} is used twice", "give every document an id of its own"
            )
        ids.add(docid)
    return _Corpus(frozenset(ids), digest.hexdigest())


def _given_qrels(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"{path}: no such file", fix="give --qrels an existing file")
    return path


def _one_of(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"{folder}: no {' or '.join(names)}", fix=f"give {LAYOUT}")


def _fingerprint(
    queries: Mapping[str, str],
    qrels: Qrels,
    corpus_digest: str,
    requests: Mapping[str, QueryRequest],
    spans: Mapping[str, tuple[JudgedSpan, ...]],
) -> str:
    judged = {query_id: sorted(grades.items()) for query_id, grades in sorted(qrels.items())}
    said: list[object] = [sorted(queries.items()), judged, corpus_digest]
    how = [replace(requests[q], facets=(), facts=()) for q in sorted(requests)]  # these change no ranking
    if any(request != QueryRequest(request.query_id, request.text) for request in how):
        said.append(how)
    if spans:
        said.append(sorted((q, sorted((s.unit, s.sha256, s.grade) for s in of)) for q, of in spans.items()))
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def _warnings(
    path: Path, judgements: Qrels, unknown: tuple[str, ...], known: Qrels, corpus: _Corpus | None
) -> tuple[str, ...]:
    notes = []
    if unknown:
        lines = sum(len(judgements[query_id]) for query_id in unknown)
        notes.append(
            f"{path}: {lines} judgements of {len(unknown)} unknown queries ignored ({_some(unknown)})"
        )
    if corpus:
        absent = sorted({docid for grades in known.values() for docid in grades} - corpus.ids)
        if absent:
            notes.append(f"{path}: {len(absent)} judged documents are not in the corpus ({_some(absent)})")
    return tuple(notes)


def _some(ids: Collection[str]) -> str:
    shown = ", ".join(list(ids)[:NAMED])
    return f"{shown}, …" if len(ids) > NAMED else shown
