"""Passages of hits, within a budget of tokens.

First every hit gets its own text, the best first; what is left of the budget is spent on what stands around them, again from
the best on: the rest of a table, the section, neighbours in the same section, neighbours in others. So nothing that was found is
lost for what only stands beside it. What does not fit is not cut but left out, and a smaller one behind it may still fit; the
best hit alone is cut where it must be, between sentences or rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from veraz.assembly.areas import Areas, Drawn, Page, holds
from veraz.assembly.stored import Piece, Stored
from veraz.assembly.units import whole, without
from veraz.errors import MalformedResponse
from veraz.nouns.context import LeftOut, Why, rendered
from veraz.nouns.corpus import Span
from veraz.nouns.evidence import Hit, Passage, PassageChunk
from veraz.providers.ports import CountTokens

BETWEEN = "\n\n"
LONG_TOKEN = 8
"""Code points: few texts have so many in each of their tokens."""
COMPLETING = 8
"""Chunks on either side of a hit over which a sentence or table may go on. Of a longer one the part in chunks is given."""
CUT = "the best passage alone has more tokens than the budget: it is cut after a sentence"
TOO_SMALL = "the budget holds not even one sentence of the best passage: nothing is given"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`budget`: the most tokens of all passages with their labels; None: no limit. `neighbours`: chunks before and behind each
    hit. `sections`: whether a hit brings its section where that fits. `per_document`: the most hits of a document; None:
    no limit."""

    budget: int | None
    neighbours: int = 0
    sections: bool = False
    per_document: int | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    passages: tuple[Passage, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int
    notes: tuple[str, ...]


def assemble(
    hits: Sequence[Hit],
    pieces: Sequence[Piece],
    texts: Mapping[UUID, Stored],
    wanted: Wanted,
    count_tokens: CountTokens | None,
) -> Assembled:
    """`hits` in their order, best first; `pieces` the chunks around them that may be shown, the hits' own among them; `texts` by
    revision. A hit of which either is missing is left out as gone. Without a budget nobody need count. The same input gives
    the same passages."""
    work = _Assembly(hits, pieces, texts, wanted, count_tokens)
    work.place()
    work.surround()
    return work.finished()


class _Assembly:
    def __init__(
        self,
        hits: Sequence[Hit],
        pieces: Sequence[Piece],
        texts: Mapping[UUID, Stored],
        wanted: Wanted,
        count_tokens: CountTokens | None,
    ) -> None:
        self._hits, self._wanted = hits, wanted
        self._count, self._counts = _Counter(count_tokens), count_tokens is not None
        self._pages = {revision_id: Page(stored) for revision_id, stored in texts.items()}
        self._pieces = {piece.chunk_id: piece for piece in pieces if piece.revision_id in texts}
        self._runs = _runs(self._pieces.values())
        self._first = {h.document.revision_id: h for h in reversed(hits)}
        self._areas: dict[UUID, Areas] = {}
        self._costs: dict[UUID, int] = {}
        self._undo: list[tuple[UUID, Areas]] = []
        self._placed: list[Hit] = []
        self._left: list[tuple[Hit, Why]] = []
        self._notes: list[str] = []

    # What was found

    def place(self) -> None:
        used: dict[UUID | None, int] = {}
        for hit in self._hits:
            piece, document = self._pieces.get(hit.chunk_id), hit.document.document_id
            if piece is None:
                self._left.append((hit, "gone"))
            elif self._wanted.per_document is not None and used.get(document, 0) >= self._wanted.per_document:
                self._left.append((hit, "per_document"))
            elif self._place(piece):
                self._placed.append(hit)
                used[document] = used.get(document, 0) + 1
            else:
                self._left.append((hit, "budget"))

    def _place(self, piece: Piece) -> bool:
        if self._add(piece, piece.shown) or (piece.window is not None and self._add(piece, piece.hull)):
            return True
        if self._areas:
            return False
        cut = self._cut(piece)
        self._notes.append(CUT if cut else TOO_SMALL)
        return cut

    def _cut(self, piece: Piece) -> bool:
        """Adds as many whole sentences or rows as fit, from the first that does."""
        completed = self._completed(piece, piece.hull)
        units = () if completed is None else self._pages[piece.revision_id].units.within(completed)
        for first, unit in enumerate(units):
            fits = partial(self._fits, piece.revision_id)
            if not fits(unit):
                continue
            low, high = first, len(units) - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if fits(Span(unit.start, units[middle].end)) else (low, middle - 1)
            return self._try(piece.revision_id, Span(unit.start, units[low].end))
        return False

    # What stands around it

    def surround(self) -> None:
        placed = [self._pieces[hit.chunk_id] for hit in self._placed]
        for piece in placed:
            self._complete_table(piece)
        if self._wanted.sections:
            for piece in placed:
                self._add_section(piece)
        for inside in (True, False):
            for piece in placed:
                self._add_neighbours(piece, inside=inside)

    def _complete_table(self, piece: Piece) -> None:
        units, known = self._pages[piece.revision_id].units, self._run(piece).hull
        for at in (piece.shown.start, piece.shown.end - 1):
            table = units.table(at)
            if table is not None and known.start <= table.start and table.end <= known.end:
                self._try(piece.revision_id, table, apart=False)

    def _add_section(self, piece: Piece) -> None:
        """All of it that is known, or nothing. A longer one was not read, and could not fit."""
        section = piece.section_span
        if section.end - section.start <= longest_section(self._wanted):
            self._add_beside(piece, _hull([member.hull for member in self._run(piece).section(piece)]))

    def _add_neighbours(self, piece: Piece, *, inside: bool) -> None:
        """Outwards on either side, until one does not fit: what stands behind it would be apart."""
        members = self._run(piece).members
        at = members.index(piece)
        sides = [
            members[at + 1 : at + 1 + self._wanted.neighbours],
            members[max(0, at - self._wanted.neighbours) : at][::-1],
        ]
        open_ = [True, True]
        for step in range(self._wanted.neighbours):
            for n, side in enumerate(sides):
                if not open_[n] or step >= len(side):
                    continue
                if inside and side[step].section != piece.section:
                    open_[n] = False
                    continue
                open_[n] = self._add_beside(side[step], side[step].hull)

    # One more range

    def _run(self, piece: Piece) -> _Run:
        return next(run for run in self._runs[piece.revision_id] if piece in run.members)

    def _add(self, piece: Piece, span: Span) -> bool:
        completed = self._completed(piece, span)
        return completed is not None and self._try(piece.revision_id, completed)

    def _add_beside(self, piece: Piece, span: Span) -> bool:
        """The same for what only counts beside a hit."""
        completed = self._completed(piece, span)
        return completed is not None and self._try(piece.revision_id, completed, apart=False)

    def _completed(self, piece: Piece, span: Span) -> Span | None:
        """The range with whole sentences and rows at its edges; None where nothing is left that a reader would miss."""
        page = self._pages[piece.revision_id]
        found = whole(page.units, span, _hull([self._run(piece).hull, piece.shown]))
        return found if found is not None and page.says(found) else None

    def _try(self, revision_id: UUID, span: Span, *, apart: bool = True) -> bool:
        before = self._areas.get(revision_id, ())
        if holds(before, span):
            return True
        areas, cost = self._with(revision_id, span)
        if not self._affordable(revision_id, cost) or not (apart or len(areas) <= len(before)):
            return False
        self._undo.append((revision_id, before))
        self._areas[revision_id], self._costs[revision_id] = areas, cost
        return True

    def _fits(self, revision_id: UUID, span: Span) -> bool:
        return self._affordable(revision_id, self._with(revision_id, span)[1])

    def _with(self, revision_id: UUID, span: Span) -> tuple[Areas, int]:
        areas = self._pages[revision_id].joined(self._areas.get(revision_id, ()), span)
        return areas, self._cost(revision_id, areas)

    def _affordable(self, revision_id: UUID, cost: int) -> bool:
        others = sum(self._costs.values()) - self._costs.get(revision_id, 0)
        return self._wanted.budget is None or others + cost <= self._wanted.budget

    def _cost(self, revision_id: UUID, areas: Areas) -> int:
        return sum(
            self._count(self._passage(revision_id, drawn).rendered + BETWEEN)
            for drawn in self._pages[revision_id].passages(areas)
        )

    # Passages

    def finished(self) -> Assembled:
        """A tokenizer may find more in the whole than in its parts: then what was added last goes again."""
        passages = self._passages()
        while self._wanted.budget is not None and self._tokens(passages) > self._wanted.budget and self._undo:
            revision_id, before = self._undo.pop()
            if before:
                self._areas[revision_id] = before
            else:
                del self._areas[revision_id]
            passages = self._passages()
        given = {chunk.chunk_id for passage in passages for chunk in passage.chunks if chunk.whole}
        given |= {c.chunk_id for p in passages for c in p.chunks if c.rank is not None}
        placed = {hit.chunk_id for hit in self._placed}
        reasons = {hit.chunk_id: why for hit, why in self._left}
        left = tuple(
            LeftOut(hit.rank, hit.chunk_id, hit.document, reasons.get(hit.chunk_id, "budget"))
            for hit in self._hits
            if hit.chunk_id not in given
        )
        assert placed or not passages
        return Assembled(passages, left, self._tokens(passages), tuple(self._notes))

    def _tokens(self, passages: tuple[Passage, ...]) -> int:
        return self._count(rendered(passages)) if passages else 0

    def _passages(self) -> tuple[Passage, ...]:
        made = [
            self._passage(revision_id, drawn, self._chunks(revision_id, drawn))
            for revision_id, areas in self._areas.items()
            for drawn in self._pages[revision_id].passages(areas)
        ]
        # where a chunk between is hidden, what stood around a hit may stand alone: nobody asked for it
        made = [passage for passage in made if any(chunk.rank is not None for chunk in passage.chunks)]
        made.sort(key=lambda passage: (passage.rank, passage.start))
        numbered = [replace(passage, n=n) for n, passage in enumerate(made, start=1)]
        if not self._counts:
            return tuple(numbered)
        return tuple(replace(passage, tokens=self._count(passage.rendered)) for passage in numbered)

    def _passage(self, revision_id: UUID, drawn: Drawn, chunks: tuple[PassageChunk, ...] = ()) -> Passage:
        start = drawn.spans[0].start
        best = min((c for c in chunks if c.rank is not None), key=lambda c: c.rank or 0, default=None)
        first = self._first[revision_id]
        return Passage(
            n=len(self._hits),
            document=first.document,
            heading_path=self._heading(revision_id, drawn.at),
            page=self._page_of(revision_id, start),
            start=start,
            end=drawn.spans[-1].end,
            spans=drawn.spans,
            text=drawn.text,
            tokens=None,
            rank=first.rank if best is None or best.rank is None else best.rank,
            score=first.score if best is None or best.score is None else best.score,
            chunks=chunks,
            truncated=any(
                self._lacks(revision_id, self._pieces[chunk.chunk_id].shown, drawn)
                for chunk in chunks
                if chunk.rank is not None
            ),
        )

    def _lacks(self, revision_id: UUID, span: Span, drawn: Drawn) -> bool:
        """Whether something of a range is not in the passage."""
        stored = self._pages[revision_id].stored
        return any(
            stored.text[part.start : part.end].strip()
            for gap in without(span, drawn.spans)
            for part in without(gap, stored.dropped)
        )

    def _heading(self, revision_id: UUID, at: int) -> tuple[str, ...]:
        before = [p for p in self._of(revision_id) if p.hull.start <= at]
        return (before[-1] if before else self._of(revision_id)[0]).heading_path

    def _page_of(self, revision_id: UUID, at: int) -> int | None:
        return bisect_right(self._pages[revision_id].stored.page_starts, at) or None

    def _of(self, revision_id: UUID) -> list[Piece]:
        return [piece for run in self._runs[revision_id] for piece in run.members]

    def _chunks(self, revision_id: UUID, drawn: Drawn) -> tuple[PassageChunk, ...]:
        placed = {hit.chunk_id for hit in self._placed}
        hits = {hit.chunk_id: hit for hit in self._hits}
        found = []
        for piece in self._of(revision_id):
            spans = tuple(_common(piece.spans, drawn.spans))
            if not spans:
                continue
            complete = not any(self._lacks(revision_id, span, drawn) for span in piece.spans)
            hit = hits.get(piece.chunk_id)
            counts = hit is not None and (complete or piece.chunk_id in placed)
            found.append(
                PassageChunk(
                    chunk_id=piece.chunk_id,
                    ord=piece.ord,
                    kind=piece.kind,
                    heading_path=piece.heading_path,
                    page=self._page_of(revision_id, spans[0].start),
                    start=spans[0].start,
                    end=spans[-1].end,
                    spans=spans,
                    whole=complete,
                    rank=hit.rank if hit and counts else None,
                    score=hit.score if hit and counts else None,
                )
            )
        return tuple(found)


class _Counter:
    """Tokens of a text, each counted once."""

    def __init__(self, count_tokens: CountTokens | None) -> None:
        self._ask, self._known = count_tokens, dict[str, int]()

    def __call__(self, text: str) -> int:
        if self._ask is None:
            return 0
        if text not in self._known:
            counts = list(self._ask([text]))
            if len(counts) != 1 or counts[0] < 0:
                raise MalformedResponse(
                    f"count_tokens answered {counts!r} for one text",
                    fix="it must give one number of tokens for each text",
                )
            self._known[text] = counts[0]
        return self._known[text]


@dataclass(frozen=True, slots=True)
class _Run:
    """Chunks of one revision without one missing between them."""

    members: tuple[Piece, ...]

    @property
    def hull(self) -> Span:
        return _hull([member.hull for member in self.members])

    def section(self, piece: Piece) -> tuple[Piece, ...]:
        """Those beside the piece that are of its section."""
        at = first = last = self.members.index(piece)
        while first > 0 and self.members[first - 1].section == piece.section:
            first -= 1
        while last + 1 < len(self.members) and self.members[last + 1].section == piece.section:
            last += 1
        assert first <= at <= last
        return self.members[first : last + 1]


def _runs(pieces: Iterable[Piece]) -> dict[UUID, list[_Run]]:
    found: dict[UUID, list[list[Piece]]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.revision_id, piece.ord)):
        runs = found.setdefault(piece.revision_id, [])
        if runs and runs[-1][-1].ord + 1 == piece.ord:
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return {revision_id: [_Run(tuple(run)) for run in runs] for revision_id, runs in found.items()}


def _hull(spans: Sequence[Span]) -> Span:
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def _common(first: Sequence[Span], second: Sequence[Span]) -> Iterator[Span]:
    for one in first:
        for other in second:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if start < end:
                yield Span(start, end)


def longest_section(wanted: Wanted) -> int:
    """Code points of the longest section that could fit the budget."""
    if not wanted.sections or wanted.budget is None:
        return 0
    return wanted.budget * LONG_TOKEN


def reach(wanted: Wanted) -> int:
    """How many chunks before and behind a hit are looked at: its neighbours, or those that may complete its sentences."""
    return max(wanted.neighbours, COMPLETING)


def evidence_of(hits: Sequence[Hit], assembled: Assembled) -> tuple[Hit, ...]:
    """The hits as far as the passages hold them: what of a hit did not fit, nobody who reads the passages has seen."""
    found = []
    for hit in hits:
        for passage in assembled.passages:
            if any(chunk.chunk_id == hit.chunk_id and chunk.rank is not None for chunk in passage.chunks):
                found.append(_as_in(hit, passage))
                break
    return tuple(found)


def _as_in(hit: Hit, passage: Passage) -> Hit:
    if not passage.truncated:
        return hit
    spans = tuple(_common(hit.spans, passage.spans))
    return replace(
        hit,
        spans=spans,
        start=spans[0].start,
        end=spans[-1].end,
        body="".join(_said(passage, span) for span in spans),
    )


def _said(passage: Passage, wanted: Span) -> str:
    """The text of a range that lies in one of the passage's spans."""
    at = 0
    for span in passage.spans:
        if span.start <= wanted.start < span.end:
            return passage.text[at + wanted.start - span.start : at + wanted.end - span.start]
        at += span.end - span.start
    return ""
