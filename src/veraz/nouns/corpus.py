"""What goes in: raw items, parsed documents, sections, chunks, embedding spaces, ingest reports.

Offsets everywhere are Unicode code points into `ParsedDocument.text`, which is the decoded, NUL-free text as parsed,
before any normalisation for search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt

from veraz.nouns.distance import Distance

Vectors = npt.NDArray[np.float32]
"""Embeddings of a batch: float32, shape (texts, dimension), rows in the order of the texts."""

BlockKind = Literal["paragraph", "list", "table", "code", "quote"]
TextKind = Literal["query", "passage"]
Media = Literal["markdown", "text", "html", "record", "pdf", "package", "xml", "csv", "mail", "ole"]
"""What the bytes of an item are, as far as their first ones tell: a package is a zip (DOCX, PPTX, XLSX, EPUB), which its parser
looks into, as that of XML does; ole is the Office format before 2007."""


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of code points in the revision's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RawItem:
    """One document as it was found, before parsing.

    Exactly one of `payload` (the bytes of a file) and `record` (one line of a .jsonl collection) is set.
    """

    path: str
    external_id: str
    media: Media
    payload: bytes | None = None
    record: Mapping[str, Any] | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """Where it is, as reports name it: the path, and the line of a record."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Section:
    """A node of the heading tree. `ord` counts in reading order from 0; section 0 is the root (level 0, no heading)
    and holds whatever precedes the first heading. `start`/`end` cover heading and body up to the next heading of any
    level, so that the sections of a document partition its text."""

    ord: int
    parent: int | None
    level: int
    heading: str
    heading_path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table, code block or quotation inside one section; never cut unless it alone exceeds the limit.

    A table is written as lines of cells between bars, its header rows above a line of dashes; a cell that spans rows or columns
    stands in each of them, and a row of one cell over the whole width has nothing in the others. `caption` is where the text
    names the table."""

    section: int
    kind: BlockKind
    start: int
    end: int
    caption: Span | None = None


AccessRule = Literal["any", "all", "owner"]


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read a document. Rule "any": who holds one of the labels; "all": who holds every one; "owner": nobody but the
    owner. The window bounds the first two; the owner's label always opens. Times carry a zone; `until` is exclusive."""

    labels: tuple[str, ...] = ("public",)
    rule: AccessRule = "any"
    owner: str | None = None
    readable_from: datetime | None = None
    readable_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    external_id: str
    text: str
    title: str
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    parser: str  # name and version, e.g. "markdown/1"
    media: str
    page_starts: tuple[
        int, ...
    ] = ()  # where each page begins, from page 1; an empty page begins where the next one does
    url: str | None = None
    lang: str | None = None  # ISO 639-1 as declared by the document; None: to be detected
    publisher: str | None = None  # a collection's own `source` field; the Veraz source is the caller's
    license: str | None = None
    jurisdiction: str | None = None
    document_type: str | None = None
    supersedes: str | None = None  # external id, same source, of the document that this one replaces
    item: str | None = None  # what editions under different external ids have in common
    edition: str | None = None
    access: Access | None = None
    published_at: date | None = None
    revised_at: date | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    rulers: tuple[Span, ...] = ()  # drawn lines and hidden markup: in no block, and no content
    repeated: tuple[Span, ...] = ()  # running heads and menus that were said before: in no block


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of one section. `body` is the text of its spans, joined; `header` is the contextual header (source,
    title, heading path), prefixed for embedding and the lexical vector and never shown as body; so is `context`."""

    ord: int
    section: int
    heading_path: tuple[str, ...]
    kind: BlockKind
    body: str
    display: str  # what a reader sees: the body, with repeated table headers where a table was split
    header: str
    token_count: int  # of header, context and body as embedded, by the embedder's own tokenizer
    spans: tuple[Span, ...]
    page: int | None = None
    embedded: str | None = (
        None  # said in other words for the arms: the rows of a table as sentences; None: the display form
    )
    window: Span | None = (
        None  # where `display` stands, if a reader is given more: the parent, the neighbours
    )
    context: str = ""  # a line that a model wrote about it: embedded and analysed below the header, never quoted or shown as text
    context_key: bytes | None = None  # what the context was written for; None: none was asked for

    @property
    def embedded_text(self) -> str:
        """Exactly what is embedded, analysed for the lexical arm, and hashed."""
        body = self.display if self.embedded is None else self.embedded
        return "\n\n".join(part for part in (self.header, self.context, body) if part)


DropReason = Literal["blank", "heading", "markup", "repeated", "ruler"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A range that is in no chunk. blank: white space; heading: it is in the heading path; markup: signs that say nothing alone;
    ruler: a line drawn with characters; repeated: what every page says again, where it was said before."""

    start: int
    end: int
    why: DropReason


@dataclass(frozen=True, slots=True)
class SpaceSpec:
    """What makes two vectors comparable. Two spaces with any field different never meet in one query."""

    name: str
    provider: str
    model: str
    dimension: int
    normalised: bool
    query_prefix: str
    passage_prefix: str
    distance: Distance
    max_tokens: int
    fingerprint: str  # sha256 of the weights, or the provider's model revision


IndexKind = Literal["hnsw", "ivfflat", "binary", "none"]
"""How the nearest vectors of a space are found: `hnsw` a graph, `ivfflat` clusters, `binary` a graph of signs whose candidates
are scored again by their vectors, `none`: every vector is compared."""


@dataclass(frozen=True, slots=True)
class SpaceIndex:
    """The index of a space. `options`: what it was built with (m, ef_construction, lists), and how far a search looks unless told
    otherwise (probes, oversampling). `distance`: the space's, by which it is ordered."""

    kind: IndexKind = "hnsw"
    options: Mapping[str, int] = field(default_factory=dict)
    distance: Distance = "cosine"


@dataclass(frozen=True, slots=True)
class IndexBuilt:
    """What a build of a space's index made. `recall`: of an index of signs, what it was measured to find of the exact result on
    the corpus's own vectors before it was built, by its cut-off (`recall@10`)."""

    space: str
    kind: IndexKind
    options: Mapping[str, int]
    vectors: int
    size_bytes: int
    seconds: float
    recall: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    distance: Distance = "cosine"


@dataclass(frozen=True, slots=True)
class EmbeddingBatch:
    vectors: Vectors
    truncated: tuple[int, ...]  # positions of texts that exceeded max_tokens and were cut


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """`vectors`: of each text float32 (tokens, dimension), not scaled, of its own tokens alone: what is put around a text,
    prefix and special tokens, is left out. `truncated` as of an EmbeddingBatch."""

    vectors: tuple[Vectors, ...]
    truncated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ItemFailure:
    path: str
    external_id: str | None
    stage: str
    reason: str


ChangeKind = Literal["new", "changed", "renamed", "deleted"]


@dataclass(frozen=True, slots=True)
class Change:
    """What a run did, or would do, to one document. `was`: the id that a renamed one had before."""

    kind: ChangeKind
    external_id: str
    was: str | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """`documents` and `chunks` count what this run wrote; `embedded` and `reused` where their vectors came from. `superseded`
    counts documents that another one replaces from this run on, `unsuperseded` those that count again. `renamed` ones count as
    new, and what they were called as deleted. `changes` lists the documents of a dry run, and renamed and pruned ones of a real
    one. `contexts` counts those that a model was asked for, `contexts_reused` chunks that took one that was written before."""

    new: int
    changed: int
    unchanged: int
    superseded: int
    deleted: int
    failed: int
    documents: int
    chunks: int
    embedded: int
    reused: int
    seconds: float
    errors: tuple[ItemFailure, ...]
    warnings: tuple[str, ...] = ()
    unsuperseded: int = 0
    renamed: int = 0
    contexts: int = 0
    contexts_reused: int = 0
    dry_run: bool = False
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Properties of a source given at ingest; None leaves what is stored."""

    slug: str
    name: str | None = None
    license: str | None = None
    jurisdiction: str | None = None
    authority: int | None = None
    base_url: str | None = None
    chunker: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who acts: a tenant and the roles that open access labels. Never taken from a request body. `subject` names the credential
    in logs: a key's prefix or a token's subject. `operator`: whose word opened the engine, not a credential that was presented;
    keys, tenants and what concerns all of them are the operator's alone."""

    tenant_id: UUID
    tenant: str
    roles: tuple[str, ...]
    may_write: bool = True
    subject: str | None = None
    operator: bool = False
