"""What a suite holds: questions with the circumstances they are asked in, judged spans, and how these stand to what is
ingested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from veraz.nouns.corpus import Span
from veraz.nouns.question import Filters

Expected = Literal["answered", "conflicting", "insufficient", "nothing", "routed"]
PRIVATE = "private"
"""The split that is reported, and that no gate, comparison or sweep ever sees."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """suite.toml. `sources` are the slugs that judgements without a source of their own mean and that searches look in;
    `lang` is that of queries which state none; the first of `splits` is that of queries which name none."""

    name: str
    version: str
    description: str = ""
    license: str = ""
    sources: tuple[str, ...] = ()
    lang: str = "auto"
    splits: tuple[str, ...] = ("all",)


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A question of a suite and how it is asked. `tenant` and `roles` are None where they are the caller's own. `outcome` is
    what should come of it, None where nothing is said; `facts` are short texts that a right answer holds."""

    query_id: str
    text: str
    lang: str = "auto"
    tenant: str | None = None
    roles: tuple[str, ...] | None = None
    filters: Filters = field(default_factory=Filters)
    as_of: date | None = None
    facets: tuple[str, ...] = ()
    outcome: Expected | None = None
    facts: tuple[str, ...] = ()
    split: str = "all"


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a found chunk stands: `spans` are offsets into the text of that revision. Empty for a document that was found
    because it says the same as the hit before it: where in it is not known then."""

    source: str
    external_id: str
    revision: int
    spans: tuple[Span, ...] = ()

    @property
    def document(self) -> DocumentKey:
        return self.source, self.external_id

    @property
    def start(self) -> int:
        return min((span.start for span in self.spans), default=0)

    @property
    def end(self) -> int:
        return max((span.end for span in self.spans), default=0)


DocumentKey = tuple[str, str]
"""Source, external id."""


@dataclass(frozen=True, slots=True)
class JudgedSpan:
    """One unit of relevance: a span of a document, as offsets in the revision that was judged, and the sha256 (hexadecimal,
    of UTF-8) of its text, by which it is found again in another revision. `grade` is 0 to 3, relevant from 1."""

    source: str
    external_id: str
    start: int
    end: int
    sha256: str
    grade: int

    @property
    def document(self) -> DocumentKey:
        return self.source, self.external_id

    @property
    def unit(self) -> str:
        """Its id among the judgements of a query."""
        return f"{self.source}/{self.external_id}#{self.start}-{self.end}.{self.sha256[:6]}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One line of judgements.jsonl. A later line of the same judge on the same span replaces this one; `grade` None takes it
    back."""

    query_id: str
    source: str
    external_id: str
    start: int
    end: int
    sha256: str
    grade: int | None
    judge: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What binding needs of a document's current revision: its text, and the spans of each chunk that a search can return."""

    revision: int
    text: str
    chunks: tuple[tuple[Span, ...], ...]


UnboundReason = Literal["document", "text", "chunk"]


@dataclass(frozen=True, slots=True)
class Unbound:
    """A judgement that no search can earn. `document`: it is not there, not readable or not current; `text`: the judged text
    is not in it any more; `chunk`: no chunk covers it."""

    query_id: str
    source: str
    external_id: str
    start: int
    end: int
    grade: int
    why: UnboundReason


@dataclass(frozen=True, slots=True)
class Binding:
    """How the judged spans of a suite stand to what is ingested. `moved` counts bound ones that were found at another place
    by their hash."""

    judgements: int
    bound: int
    moved: int
    unbound: tuple[Unbound, ...] = ()

    @property
    def share(self) -> float:
        """Of the judgements; 1 where there are none."""
        return self.bound / self.judgements if self.judgements else 1.0


@dataclass(frozen=True, slots=True)
class Passage:
    """What a judge looks at: one contiguous span of a revision, and where it stands. Nothing says which run found it, or how
    high. `judged_at` is the place by which earlier judgements name the same text, if that is another one."""

    source: str
    external_id: str
    revision: int
    start: int
    end: int
    text: str
    title: str
    heading_path: tuple[str, ...]
    lang: str
    revised_at: date | None
    sha256: str
    judged_at: Span | None = None

    @property
    def place(self) -> Span:
        return self.judged_at or Span(self.start, self.end)


@dataclass(frozen=True, slots=True)
class PooledQuestion:
    """A question with what several runs found for it, in an order that tells nothing. `lost` counts results whose text is
    gone."""

    request: QueryRequest
    passages: tuple[Passage, ...]
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on the passages that both graded. `raw` is the share of equal grades; `kappa` Cohen's with quadratic
    weights, 1 for the same grades and 0 for chance; None where one grade is all that both ever gave. `table`: grade of a →
    grade of b → passages."""

    a: str
    b: str
    passages: int
    raw: float
    kappa: float | None
    table: Mapping[int, Mapping[int, int]]
    apart: tuple[tuple[str, str, int, int], ...] = ()  # query, unit, both grades: two or more apart


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import wrote."""

    folder: str
    queries: int
    judgements: int
    warnings: tuple[str, ...] = ()
