"""A judged collection in BEIR layout: corpus.jsonl[.gz], queries.jsonl[.gz], qrels.tsv or qrels/test.tsv."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, identifier, numbered_lines, objects
from veraz.evaluation.qrels import Qrels, read_qrels

LAYOUT = "a folder with queries.jsonl[.gz], qrels.tsv (or --qrels FILE) and, to be loaded, corpus.jsonl[.gz]"
NAMED = 5  # how many ids a warning spells out


@dataclass(frozen=True, slots=True)
class Dataset:
    """`queries` maps id to text in file order; `qrels` judges only queries that are known.

    `unjudged` lists queries without any judgement line: they are neither searched nor part of a mean.
    `without_relevant` lists judged queries with no grade above 0: they count, as 0 (the rule of trec_eval and
    ir_measures, so that other tools re-score a run to the same figures). `fingerprint` is the sha256 of
    queries, judgements and corpus: equal fingerprints mean comparable runs. `documents` is None without a
    corpus.
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
    queries = read_queries(_one_of(folder, "queries.jsonl", "queries.jsonl.gz"))
    qrels_path = _given_qrels(qrels) if qrels else find_qrels(folder)
    judgements = read_qrels(qrels_path)
    unknown = tuple(query_id for query_id in judgements if query_id not in queries)
    known = {query_id: judgements[query_id] for query_id in queries if query_id in judgements}
    if not known:
        raise UsageError(
            f"{qrels_path}: none of its {len(judgements)} queries is in {folder}",
            fix="check that judgements and queries use the same ids",
        )
    corpus_path = next((p for n in ("corpus.jsonl", "corpus.jsonl.gz") if (p := folder / n).is_file()), None)
    corpus = scan_corpus(corpus_path) if corpus_path else None
    return Dataset(
        name=folder.resolve().name,
        queries=queries,
        qrels=known,
        corpus_path=corpus_path,
        fingerprint=_fingerprint(queries, known, corpus.digest if corpus else ""),
        documents=len(corpus.ids) if corpus else None,
        unjudged=tuple(query_id for query_id in queries if query_id not in known),
        without_relevant=tuple(q for q, grades in known.items() if max(grades.values()) < 1),
        unknown_queries=unknown,
        warnings=_warnings(qrels_path, judgements, unknown, known, corpus),
    )


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
    for name in ("qrels.tsv", "qrels/test.tsv"):
        if (folder / name).is_file():
            return folder / name
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


def _fingerprint(queries: Mapping[str, str], qrels: Qrels, corpus_digest: str) -> str:
    judged = {query_id: sorted(grades.items()) for query_id, grades in sorted(qrels.items())}
    return hashlib.sha256(msgspec.json.encode([sorted(queries.items()), judged, corpus_digest])).hexdigest()


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
