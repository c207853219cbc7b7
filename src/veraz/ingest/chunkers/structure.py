"""The structure chunker: chunks follow sections and blocks, and are cut inside a block only when it
alone is too long.

A chunk never leaves its section. A section that fits is one chunk. A longer one is cut where it hurts
least: between blocks, else between list items, table rows or code lines, else between sentences, else at
white space, and only as a last resort inside a word; never between a digit, a separator and a digit
while anything else is possible.

Each chunk has one span, so its body is `text[start:end]` as it stands. Spans of different chunks do not
overlap and together hold every character of the text that is not white space, except: headings (they are
in `heading_path`; a heading without text below it becomes a chunk when it states something), rulers and
markup that the parser named as such, when nothing follows them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from veraz.errors import UsageError
from veraz.ingest.chunkers.context import ChunkContext, CountTokens
from veraz.ingest.chunkers.cut import Cost, Unit, cut_unit, whole_blocks
from veraz.ingest.header import contextual_header
from veraz.nouns.corpus import BlockKind, Chunk, ParsedDocument, Span

CHUNKER = "structure/2"

HARDLY_FITS = 5
"""Characters a token: a section longer than this times the limit is counted by its parts at once, not first as a whole."""
SURELY_LONG: Mapping[BlockKind, int] = {"paragraph": 6, "quote": 6, "list": 12, "code": 12, "table": 12}
"""Characters a token: a block longer than this times the room is cut uncounted. Sentences are packed again without a loss,
other blocks should rather stay whole."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive units of one section that will be one chunk."""

    units: tuple[Unit, ...]

    @property
    def start(self) -> int:
        return self.units[0].start

    @property
    def end(self) -> int:
        return self.units[-1].end

    def spans(self, repeated: Sequence[Span]) -> tuple[Span, ...]:
        """Its text without what is repeated between its units."""
        spans, at = [], self.start
        first = bisect_left(repeated, self.start, key=lambda span: span.start)
        for gap in takewhile(lambda span: span.start < self.end, repeated[first:]):
            spans.append(Span(at, gap.start))
            at = gap.end
        return (*spans, Span(at, self.end))

    def display(self, text: str, spans: Sequence[Span]) -> str:
        only = self.units[0]
        if only.shown is not None:
            return only.shown
        return f"{only.before}{said(text, spans)}{self.units[-1].after}"

    def embedded(self, text: str, spans: Sequence[Span]) -> str | None:
        """Rows of tables as sentences, all else as it is shown; None where nothing is a table."""
        if all(unit.kind != "table" for unit in self.units):
            return None
        parts, at = [self.units[0].lead], self.start
        for unit in self.units:
            parts += [said(text, spans, at, unit.start), unit.body(text)]
            at = unit.end
        return "".join([*parts, self.units[-1].after])

    @property
    def section(self) -> int:
        return self.units[0].section


def said(text: str, spans: Sequence[Span], start: int = 0, end: int | None = None) -> str:
    """The text of the spans, as far as it lies between start and end."""
    end = len(text) if end is None else end
    return "".join(text[max(span.start, start) : max(min(span.end, end), start)] for span in spans)


class Structure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    @property
    def version(self) -> str:
        return CHUNKER

    @property
    def pooled(self) -> bool:
        return False

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        made = Packer(doc, context).fit(by_section(whole_blocks(doc)))
        return in_order(chunk for _, chunk in made)


def by_section(units: Iterable[Unit]) -> list[Run]:
    grouped: dict[int, list[Unit]] = {}
    for unit in units:
        grouped.setdefault(unit.section, []).append(unit)
    return [Run(tuple(units)) for units in grouped.values()]


def in_order(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """Chunks numbered in reading order."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.spans[0].start, chunk.spans[-1].end))
    return tuple(replace(chunk, ord=n) if n else chunk for n, chunk in enumerate(ordered))


class Packer:
    """Makes chunks of runs of units: a run that fits is one chunk, a longer one is cut and packed.

    With `size` the own text of a chunk holds at most that many tokens, header, prefix and special ones apart; the limit of
    the context holds besides. `order` chooses the boundaries of a run that does not fit.
    """

    def __init__(
        self, doc: ParsedDocument, context: ChunkContext, *, size: int | None = None, order: type[Cost] = Cost
    ) -> None:
        self.doc, self.text, self.lang, self.order = doc, doc.text, context.lang, order
        self.limit, self.size, self.count = context.limit, size, context.count_tokens
        self.headers = headers(doc, context)
        self.fixed = 0  # tokens that every embedded text costs: prefix and special ones
        if size is not None:
            self._count_units(())

    def fit(self, runs: Sequence[Run]) -> list[tuple[Run, Chunk]]:
        """Runs as they came to fit, each with its chunk, whose `ord` is yet to be set; in no order."""
        short = [run.end - run.start <= self._most(run) * HARDLY_FITS for run in runs]
        whole = self._counted([run for run, is_short in zip(runs, short, strict=True) if is_short])
        done = [(run, chunk) for run, chunk in whole if chunk.token_count <= self._most(run)]
        todo = [run for run, is_short in zip(runs, short, strict=True) if not is_short]
        todo += [run for run, chunk in whole if chunk.token_count > self._most(run)]
        return done + self._packed(todo)

    def _packed(self, todo: Sequence[Run]) -> list[tuple[Run, Chunk]]:
        """Cuts and packs until every chunk fits. Sums of unit counts only estimate the count of their
        union, so the chunks are counted again, and those that came out too long are packed once more
        with less room."""
        done: list[tuple[Run, Chunk]] = []
        slack = 0
        while todo:
            counted = self._counted(
                [packed for run in self._fine(todo, slack) for packed in self._pack(run, slack)]
            )
            if self.fixed >= self.limit:
                raise nothing_fits(self.limit)
            todo = []
            for run, chunk in counted:
                if chunk.token_count <= self._most(run) or (len(run.units) == 1 and run.units[0].atomic):
                    done.append((run, chunk))
                elif slack < self.limit:
                    todo.append(run)
                else:
                    todo += self._apart(run)
            slack = max(slack * 2, 4)
        return done

    def _apart(self, run: Run) -> list[Run]:
        """Each unit by itself, or the parts of a single one: what stands between units, such as a wide gap or a ruler, is in no
        unit's count, so that no room is small enough to keep it out of a chunk."""
        units: Sequence[Unit] = run.units
        if len(units) == 1:
            units = cut_unit(self.text, units[0], max(1, units[0].cost // 2), self.lang)
        return [Run((unit,)) for unit in units]

    def _most(self, run: Run) -> int:
        """The most tokens of a chunk that begins as the run does."""
        return self.limit if self.size is None else min(self.limit, self.size + self._overhead(run.section))

    def _overhead(self, section: int) -> int:
        return max(self.fixed, self.headers[section][1])

    def _room(self, run: Run, slack: int) -> int:
        """Tokens for the display form of a chunk of this run, whose sections may be several."""
        overhead = max(map(self._overhead, {unit.section for unit in run.units}))
        least = 8 if self.size is None else min(8, self.size)
        return max(least, min(self.limit - overhead, self.size or self.limit) - slack)

    def _fine(self, runs: Sequence[Run], slack: int) -> list[Run]:
        """The runs with every unit that alone is too long cut into smaller ones, and all units counted."""
        rooms = [self._room(run, slack) for run in runs]
        queues = [list(run.units) for run in runs]
        while True:
            self._count_units(
                [
                    unit
                    for queue, room in zip(queues, rooms, strict=True)
                    for unit in queue
                    if unit.tokens < 0 and not _surely_long(unit, room)
                ]
            )
            again = False
            for n, (queue, room) in enumerate(zip(queues, rooms, strict=True)):
                cut: list[Unit] = []
                for unit in queue:
                    if unit.atomic or (unit.tokens >= 0 and unit.cost <= room):
                        cut.append(unit)
                    else:
                        cut += cut_unit(self.text, unit, room, self.lang)
                        again = True
                queues[n] = cut
            if not again:
                return [Run(tuple(queue)) for queue in queues]

    def _count_units(self, units: Sequence[Unit]) -> None:
        """Sets `tokens` of each, without `fixed`."""
        texts: list[str] = []
        for unit in units:
            texts += [unit.body(self.text), *(part for part in (unit.lead, unit.after) if part.strip())]
        counts = iter(self.count(["a", "a a", *texts]))
        one, two = next(counts), next(counts)
        self.fixed = fixed = max(0, 2 * one - two)
        for unit in units:
            unit.tokens = max(1, next(counts) - fixed)
            unit.before_tokens = max(1, next(counts) - fixed) if unit.lead.strip() else 0
            unit.after_tokens = max(1, next(counts) - fixed) if unit.after.strip() else 0

    def _pack(self, run: Run, slack: int) -> list[Run]:
        bounds = self.order(run.units, self._room(run, slack)).best()
        return [Run(run.units[a:b]) for a, b in bounds]

    def _counted(self, runs: Sequence[Run]) -> list[tuple[Run, Chunk]]:
        chunks = [self._chunk(run) for run in runs]
        return list(zip(runs, counted(chunks, self.count), strict=True))

    def _chunk(self, run: Run) -> Chunk:
        section = self.doc.sections[run.section]
        spans = run.spans(self.doc.repeated)
        display, embedded = run.display(self.text, spans), run.embedded(self.text, spans)
        return Chunk(
            ord=0,
            section=section.ord,
            heading_path=section.heading_path,
            kind=_main_kind(run.units),
            body=said(self.text, spans),
            display=display,
            header=self.headers[section.ord][0],
            token_count=0,
            spans=spans,
            page=page_of(self.doc, run.start),
            embedded=None if embedded == display else embedded,
        )


def counted(chunks: Sequence[Chunk], count_tokens: CountTokens) -> list[Chunk]:
    """The chunks with their tokens."""
    counts = count_tokens([chunk.embedded_text for chunk in chunks]) if chunks else []
    return [replace(chunk, token_count=tokens) for chunk, tokens in zip(chunks, counts, strict=True)]


def nothing_fits(limit: int) -> UsageError:
    return UsageError(
        f"not even one word fits {limit} tokens",
        fix="raise the chunk limit, or shorten the passage prefix of the embedding space",
    )


def _surely_long(unit: Unit, room: int) -> bool:
    """Whether to cut a unit without counting it: its level says that cutting needs no count."""
    finest = 0 if unit.kind == "table" else 1
    return unit.level <= finest and unit.end - unit.start > room * SURELY_LONG[unit.kind]


def page_of(doc: ParsedDocument, at: int) -> int | None:
    """The page, from 1, that holds the character at `at`; None for a text without pages."""
    return bisect_right(doc.page_starts, at) or None


def _main_kind(units: Iterable[Unit]) -> BlockKind:
    """The kind that holds most characters."""
    sizes: dict[BlockKind, int] = {}
    for unit in units:
        sizes[unit.kind] = sizes.get(unit.kind, 0) + unit.end - unit.start
    return max(sizes, key=lambda kind: sizes[kind])


def headers(doc: ParsedDocument, context: ChunkContext) -> dict[int, tuple[str, int]]:
    """Header and its tokens for each section, none above a quarter of the limit."""
    budget, count_tokens = context.limit // 4, context.count_tokens
    paths = {section.ord: section.heading_path for section in doc.sections}
    if not context.header:
        return dict.fromkeys(paths, ("", 0))
    chars = dict.fromkeys(paths, budget * 8)
    headers: dict[int, tuple[str, int]] = {}
    todo = list(paths)
    while todo:
        made = {
            n: contextual_header(context.source_name, doc.title, paths[n], max_chars=chars[n]) for n in todo
        }
        distinct = sorted({header for header in made.values() if header})
        counted = dict(zip(distinct, count_tokens(distinct), strict=True)) if distinct else {}
        for n, header in made.items():
            tokens = counted.get(header, 0)
            if tokens <= budget:
                headers[n] = (header, tokens)
            else:
                chars[n] = min(chars[n] - 1, len(header) * budget // tokens)
        todo = [n for n in todo if n not in headers]
    return headers
