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

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from veraz.errors import UsageError
from veraz.ingest.cut import Cost, Unit, cut_unit, whole_blocks
from veraz.ingest.header import contextual_header
from veraz.nouns.corpus import BlockKind, Chunk, ParsedDocument, Span

CHUNKER = "structure/2"
MIN_LIMIT = 24

CountTokens = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive units of one section that will be one chunk."""

    units: tuple[Unit, ...]

    @property
    def start(self) -> int:
        return self.units[0].start

    @property
    def end(self) -> int:
        return self.units[-1].end

    def display(self, text: str) -> str:
        only = self.units[0]
        if only.shown is not None:
            return only.shown
        return f"{only.before}{text[self.start : self.end]}{self.units[-1].after}"

    def embedded(self, text: str) -> str | None:
        """Rows of tables as sentences, all else as it is shown; None where nothing is a table."""
        if all(unit.kind != "table" for unit in self.units):
            return None
        parts, at = [self.units[0].lead], self.start
        for unit in self.units:
            parts += [text[at : unit.start], unit.body(text)]
            at = unit.end
        return "".join([*parts, self.units[-1].after])


def chunk_document(
    doc: ParsedDocument, *, source_name: str, limit: int, count_tokens: CountTokens, lang: str
) -> tuple[Chunk, ...]:
    """Chunks of `doc` in reading order, each of at most `limit` tokens as embedded (header and display
    form).

    `count_tokens` gives the tokens of each text as it would be embedded; it is called with batches and
    never with a blank text. `lang` (ISO 639-1) guides sentence boundaries. Raises UsageError for a limit
    below 24.
    """
    if limit < MIN_LIMIT:
        raise UsageError(f"chunk limit of {limit} tokens", fix=f"use a limit of at least {MIN_LIMIT}")
    return _Chunker(doc, source_name, limit, count_tokens, lang).chunks()


class _Chunker:
    def __init__(
        self, doc: ParsedDocument, source_name: str, limit: int, count_tokens: CountTokens, lang: str
    ) -> None:
        self.doc, self.text, self.limit, self.count, self.lang = doc, doc.text, limit, count_tokens, lang
        self.fixed = 0  # tokens that every embedded text costs: prefix and special ones
        self.headers = _headers(doc, source_name, limit, count_tokens)

    def chunks(self) -> tuple[Chunk, ...]:
        by_section = self._units_by_section()
        whole = [_Run(tuple(units)) for units in by_section]
        short = [run for run in whole if run.end - run.start <= self.limit * 12]
        counts = dict(zip((run.start for run in short), self._count(short), strict=True))
        done: list[tuple[_Run, int]] = []
        todo: list[_Run] = []
        for run in whole:
            tokens = counts.get(run.start, self.limit + 1)
            if tokens <= self.limit:
                done.append((run, tokens))
            else:
                todo.append(run)
        done += self._packed(todo)
        done.sort(key=lambda entry: entry[0].start)
        return tuple(self._chunk(ord_, run, tokens) for ord_, (run, tokens) in enumerate(done))

    def _units_by_section(self) -> list[list[Unit]]:
        grouped: dict[int, list[Unit]] = {}
        for unit in whole_blocks(self.doc):
            grouped.setdefault(unit.section, []).append(unit)
        return list(grouped.values())

    def _packed(self, todo: Sequence[_Run]) -> list[tuple[_Run, int]]:
        """Cuts and packs until every chunk fits. Sums of unit counts only estimate the count of their
        union, so the chunks are counted again, and those that came out too long are packed once more
        with less room."""
        done: list[tuple[_Run, int]] = []
        slack = 0
        while todo:
            if slack > 4 * self.limit:
                raise UsageError(
                    f"not even one word fits {self.limit} tokens",
                    fix="raise the chunk limit, or shorten the passage prefix of the embedding space",
                )
            runs = [packed for run in self._fine(todo, slack) for packed in self._pack(run, slack)]
            todo = []
            for run, tokens in zip(runs, self._count(runs), strict=True):
                if tokens <= self.limit or (len(run.units) == 1 and run.units[0].atomic):
                    done.append((run, tokens))
                else:
                    todo.append(run)
            slack = max(slack * 2, 4)
        return done

    def _room(self, section: int, slack: int) -> int:
        """Tokens for the display form of a chunk of this section."""
        return max(8, self.limit - max(self.fixed, self.headers[section][1]) - slack)

    def _fine(self, runs: Sequence[_Run], slack: int) -> list[_Run]:
        """The runs with every unit that alone is too long cut into smaller ones, and all units counted."""
        queues = [list(run.units) for run in runs]
        while True:
            self._count_units([unit for queue in queues for unit in queue if unit.tokens < 0])
            again = False
            for n, queue in enumerate(queues):
                room = self._room(queue[0].section, slack)
                cut: list[Unit] = []
                for unit in queue:
                    if unit.cost <= room or unit.atomic:
                        cut.append(unit)
                    else:
                        cut += cut_unit(self.text, unit, room, self.lang)
                        again = True
                queues[n] = cut
            if not again:
                return [_Run(tuple(queue)) for queue in queues]

    def _count_units(self, units: Sequence[Unit]) -> None:
        """Sets `tokens` of each, without `fixed`."""
        if not units:
            return
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

    def _pack(self, run: _Run, slack: int) -> list[_Run]:
        room = self._room(run.units[0].section, slack)
        bounds = Cost(run.units, room).best()
        return [_Run(run.units[a:b]) for a, b in bounds]

    def _count(self, runs: Sequence[_Run]) -> list[int]:
        texts = [self._chunk(0, run, 0).embedded_text for run in runs]
        return self.count(texts) if texts else []

    def _chunk(self, ord_: int, run: _Run, tokens: int) -> Chunk:
        section = self.doc.sections[run.units[0].section]
        display, embedded = run.display(self.text), run.embedded(self.text)
        return Chunk(
            ord=ord_,
            section=section.ord,
            heading_path=section.heading_path,
            kind=_main_kind(run.units),
            body=self.text[run.start : run.end],
            display=display,
            header=self.headers[section.ord][0],
            token_count=tokens,
            spans=(Span(run.start, run.end),),
            page=page_of(self.doc, run.start),
            embedded=None if embedded == display else embedded,
        )


def page_of(doc: ParsedDocument, at: int) -> int | None:
    """The page, from 1, that holds the character at `at`; None for a text without pages."""
    return bisect_right(doc.page_starts, at) or None


def _main_kind(units: Iterable[Unit]) -> BlockKind:
    """The kind that holds most characters."""
    sizes: dict[BlockKind, int] = {}
    for unit in units:
        sizes[unit.kind] = sizes.get(unit.kind, 0) + unit.end - unit.start
    return max(sizes, key=lambda kind: sizes[kind])


def _headers(
    doc: ParsedDocument, source_name: str, limit: int, count_tokens: CountTokens
) -> dict[int, tuple[str, int]]:
    """Header and its tokens for each section, none above a quarter of the limit."""
    budget = limit // 4
    paths = {section.ord: section.heading_path for section in doc.sections}
    chars = dict.fromkeys(paths, budget * 8)
    headers: dict[int, tuple[str, int]] = {}
    todo = list(paths)
    while todo:
        made = {n: contextual_header(source_name, doc.title, paths[n], max_chars=chars[n]) for n in todo}
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
