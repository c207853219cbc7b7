"""Documents cut by the real chunkers, as what the store reads of them, and hits on their chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import NAMESPACE_URL, UUID, uuid5

from tests.support.chunking import by_words, parse

from veraz.assembly.assemble import Assembled, Wanted, assemble
from veraz.assembly.stored import FURNITURE, Piece, Stored
from veraz.ingest.chunkers import ChunkContext, chunker, dropped
from veraz.nouns.corpus import Span
from veraz.nouns.evidence import DocumentRef, Hit
from veraz.providers.ports import CountTokens


@dataclass(frozen=True)
class Held:
    """One revision of one document, and its chunks in reading order."""

    document: DocumentRef
    revision_id: UUID
    stored: Stored
    pieces: tuple[Piece, ...]

    def __repr__(self) -> str:
        return f"Held({self.text!r}, {[(p.hull.start, p.hull.end) for p in self.pieces]})"

    @property
    def text(self) -> str:
        return self.stored.text

    def said(self, spans: Iterable[Span]) -> str:
        return "".join(self.text[span.start : span.end] for span in spans)

    def piece(self, words: str) -> Piece:
        """The first chunk with these words."""
        return next(piece for piece in self.pieces if words in self.said(piece.spans))


def held(
    external_id: str,
    text: str,
    *,
    cut: str = "structure",
    limit: int = 448,
    media: str = "markdown",
    **options: int,
) -> Held:
    doc = parse(text, media, external_id)
    chunks = chunker(cut, options).chunk(doc, ChunkContext("S", limit, by_words, "en", header=False))
    left = dropped(doc, chunks)
    revision_id = uuid5(NAMESPACE_URL, external_id)
    pieces = tuple(
        Piece(
            uuid5(revision_id, str(chunk.ord)), revision_id, chunk.ord, chunk.section, chunk.kind,
            chunk.heading_path, chunk.spans,
            Span(doc.sections[chunk.section].start, doc.sections[chunk.section].end), chunk.window,
        )
        for chunk in chunks
    )  # fmt: skip
    stored = Stored(
        doc.text,
        "en",
        doc.page_starts,
        tuple(Span(part.start, part.end) for part in left),
        tuple(Span(part.start, part.end) for part in left if part.why in FURNITURE),
    )
    document = DocumentRef(
        external_id=external_id, source="s", authority=3, license=None, title=external_id.title(), url=None, lang="en",
        revision=2, published_at=None, revised_at=date(2024, 5, 1), superseded_by=None, is_current=True,
        document_id=uuid5(NAMESPACE_URL, f"document {external_id}"), revision_id=revision_id,
    )  # fmt: skip
    return Held(document, revision_id, stored, pieces)


def hits(*found: tuple[Held, Piece]) -> list[Hit]:
    """In the order of the arguments."""
    return [
        Hit(
            rank=rank, score=1 / rank, chunk_id=piece.chunk_id, document=of.document, ord=piece.ord, kind=piece.kind,
            heading_path=piece.heading_path, page=None, start=piece.shown.start, end=piece.shown.end,
            body=of.said([piece.window] if piece.window else piece.spans),
            spans=(piece.window,) if piece.window else piece.spans, token_count=1,
        )
        for rank, (of, piece) in enumerate(found, start=1)
    ]  # fmt: skip


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def assembled(
    found: Sequence[tuple[Held, Piece]],
    *,
    budget: int | None = 10_000,
    neighbours: int = 0,
    sections: bool = False,
    per_document: int | None = None,
    count: CountTokens | None = words,
    known: Sequence[Piece] | None = None,
) -> Assembled:
    """`known`: the chunks that may be shown; None: all of the documents' chunks."""
    of = {held_.revision_id: held_ for held_, _ in found}
    pieces = [piece for held_ in of.values() for piece in held_.pieces] if known is None else known
    texts = {revision_id: held_.stored for revision_id, held_ in of.items()}
    wanted = Wanted(budget, neighbours, sections, per_document)
    return assemble(hits(*found), pieces, texts, wanted, count)
