"""What share of a suite's judgements can still be earned on what is ingested. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from veraz.evaluation.suites.spans import covers, places
from veraz.nouns.corpus import Span
from veraz.nouns.suite import Binding, DocumentKey, JudgedSpan, StoredDocument, Unbound, UnboundReason


def bind(
    spans: Mapping[str, Sequence[JudgedSpan]], documents: Mapping[DocumentKey, StoredDocument]
) -> Binding:
    """Binds each judged span of each query to the current revision of its document, and to a chunk that covers it. A
    document that is absent from `documents` cannot be found by who asks."""
    of_document: defaultdict[DocumentKey, dict[JudgedSpan, None]] = defaultdict(dict)
    for found in spans.values():
        for span in found:
            of_document[span.document][span] = None
    placed = {
        key: places(documents[key].text, judged) for key, judged in of_document.items() if key in documents
    }
    judged = [(query_id, span) for query_id, found in spans.items() for span in found]
    states = [(q, s, _state(s, documents.get(s.document), placed.get(s.document, {}))) for q, s in judged]
    moved = sum(1 for _, s, why in states if why is None and placed[s.document][s].start != s.start)
    return Binding(len(judged), sum(why is None for *_, why in states), moved, tuple(_unbound(states)))


def bind_documents(
    qrels: Mapping[str, Mapping[str, int]], readable: Mapping[str, Collection[str]], source: str
) -> Binding:
    """The same of judgements that name whole documents: bound where who asks the query may read the document. `source` is said of
    those that are not."""
    judged = [(q, docid, grade) for q, grades in qrels.items() for docid, grade in grades.items()]
    lost = [
        Unbound(q, source, docid, 0, 0, grade, "document")
        for q, docid, grade in judged
        if docid not in readable.get(q, ())
    ]
    return Binding(len(judged), len(judged) - len(lost), 0, tuple(lost))


def joined(parts: Iterable[Binding]) -> Binding:
    """Of several groups of queries: they may be asked by different identities."""
    kept = list(parts)
    return Binding(
        judgements=sum(b.judgements for b in kept),
        bound=sum(b.bound for b in kept),
        moved=sum(b.moved for b in kept),
        unbound=tuple(u for b in kept for u in b.unbound),
    )


def _state(
    span: JudgedSpan, document: StoredDocument | None, placed: Mapping[JudgedSpan, Span]
) -> UnboundReason | None:
    if document is None or not document.chunks:
        return "document"
    place = placed.get(span)
    if place is None:
        return "text"
    return None if any(covers(chunk, place) for chunk in document.chunks) else "chunk"


def _unbound(states: Iterable[tuple[str, JudgedSpan, UnboundReason | None]]) -> Iterator[Unbound]:
    for query_id, s, why in states:
        if why is not None:
            yield Unbound(query_id, s.source, s.external_id, s.start, s.end, s.grade, why)
