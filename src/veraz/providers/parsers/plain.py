"""Plain text: paragraphs at blank lines, lists by their bullets, and only those headings that can hardly
be anything else.

A wrong heading does more harm than a missing one (it cuts a passage and travels with every chunk below
it), so a line is a heading only if it stands alone and is numbered, all capitals or underlined, and text
follows it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from veraz.nouns.corpus import BlockKind, ParsedDocument, RawItem, Span
from veraz.providers.parsers.captions import captioned
from veraz.providers.parsers.file import decoded, document
from veraz.providers.parsers.outline import Heading, Outline, Piece
from veraz.providers.parsers.running import pages_of, repeated_lines
from veraz.text.lines import (
    ENDS_SENTENCE,
    WIDE_GAP,
    LinePart,
    deliberate_break,
    is_ruler,
    item_marker,
    line_parts,
    lines,
    trim,
    wrap_width,
)

VERSION = "plain/3"

_NUMBERED = re.compile(r"\s*([1-9]\d?(?:\.[1-9]\d?){0,4})(\.?)\s+(\S.{0,90})")
_WORD_START = re.compile(r"[^\W\d_]{3}")
_LONG_WORD = re.compile(r"[^\W\d_]{5}")
_UNDERLINE = re.compile(r"\s*(={3,}|-{3,})\s*")
# Lines this long are not wrapped: each is a paragraph of its own.
_UNWRAPPED = 160


@dataclass(frozen=True, slots=True)
class _Guess:
    """A group of lines that may be a heading of `level`; `lines` of it belong to the heading."""

    level: int
    title: str
    lines: int


class PlainParser:
    def parse(self, item: RawItem) -> ParsedDocument:
        found = decoded(item)
        return document(item, outline(found.text), VERSION, title="", stated={}, warnings=found.warnings)


def outline(text: str) -> Outline:
    """The outline of plain text. Never fails; text without structure is one paragraph."""
    repeated = repeated_lines(text)
    groups = list(_groups(text, {line.start for line in repeated}))
    guesses = _confirmed([_guess(text, group) for group in groups], groups)
    headings: list[Heading] = []
    pieces: list[Piece] = []
    rulers: list[tuple[int, int]] = []
    for group, guess in zip(groups, guesses, strict=True):
        if guess:
            start, end = trim(text, group[0].start, group[guess.lines - 1].end)
            headings.append(Heading(start, end, guess.level, guess.title))
            group = group[guess.lines :]
        rulers += [(line.start, line.end) for line in group if is_ruler(text, line)]
        for run in _without_rulers(text, group):
            pieces += _pieces(text, run)
    return Outline(
        text,
        headings,
        captioned(text, pieces),
        rulers,
        title=_title(text, groups, headings),
        warnings=_said_of(repeated),
        page_starts=pages_of(text),
        repeated=[trim(text, line.start, line.end) for line in repeated],
    )


def _said_of(repeated: Sequence[Span]) -> tuple[str, ...]:
    count = len(repeated)
    lines = "line that repeats" if count == 1 else "lines that repeat"
    return (f"{count} {lines} the head or foot of an earlier page left out of the passages",) if count else ()


def _groups(text: str, repeated: Container[int]) -> Iterator[list[Span]]:
    """Runs of lines between blank lines; a running head, known by where it starts, parts them too."""
    group: list[Span] = []
    for line in lines(text):
        if not text[line.start : line.end].isspace() and line.end > line.start and line.start not in repeated:
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _without_rulers(text: str, group: Sequence[Span]) -> Iterator[list[Span]]:
    run: list[Span] = []
    for line in group:
        if not is_ruler(text, line):
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run


# Headings


def _guess(text: str, group: Sequence[Span]) -> _Guess | None:
    first = text[group[0].start : group[0].end]
    line = first.strip()
    if len(line) > 100 or WIDE_GAP.search(line):
        return None
    if len(group) > 1:
        under = _UNDERLINE.fullmatch(text, group[1].start, group[1].end)
        if under and item_marker(text, group[0]) < 0 and len(under[1]) * 2 >= len(line):
            return _Guess(1 if "=" in under[1] else 2, line, 2)
        return None
    return _numbered(line) or _capitals(line)


def _numbered(line: str) -> _Guess | None:
    found = _NUMBERED.fullmatch(line)
    if not found or line[-1] in ".;,:!?" or len(line.split()) > 13:
        return None
    number, dot, words = found.groups()
    # "2.5 million" and "1.5 L" are quantities; "12 months" begins a sentence.
    if not words[0].isupper() or not _WORD_START.match(words) or not (dot or "." in number):
        return None
    return _Guess(number.count(".") + 1, line, 1)


def _capitals(line: str) -> _Guess | None:
    letters = [char for char in line if char.isalpha()]
    # A line of acronyms only ("HIV/AIDS") is no heading.
    if not _LONG_WORD.search(line) or len(line) > 80 or len(line.split()) > 10 or line[-1] in ".;,!":
        return None
    solid = len(line) - line.count(" ")
    if len(letters) * 10 < solid * 6 or not all(map(str.isupper, letters)):
        return None
    return _Guess(1, line.rstrip(": "), 1)


def _confirmed(guesses: Sequence[_Guess | None], groups: Sequence[Sequence[Span]]) -> list[_Guess | None]:
    """A run of guesses is kept when it goes strictly deeper and text follows: otherwise it is a list, or
    a last line."""
    kept: list[_Guess | None] = []
    run: list[_Guess] = []
    for guess, group in zip(guesses, groups, strict=True):
        if guess and len(group) == guess.lines:
            run.append(guess)
            continue
        kept += _run(run, followed=True)
        kept.append(guess)
        run = []
    return kept + _run(run, followed=False)


def _run(run: Sequence[_Guess], *, followed: bool) -> list[_Guess | None]:
    deeper = all(a.level < b.level for a, b in itertools.pairwise(run))
    return [guess if followed and deeper else None for guess in run]


def _title(text: str, groups: Sequence[Sequence[Span]], headings: Sequence[Heading]) -> str:
    """A short first line that stands alone and is no sentence; else nothing."""
    if headings and groups and headings[0].start <= groups[0][0].end:
        return headings[0].title
    if len(groups) < 2 or len(groups[0]) != 1:
        return ""
    line = text[groups[0][0].start : groups[0][0].end].strip()
    alone = len(line) <= 90 and not ENDS_SENTENCE.search(line) and item_marker(text, groups[0][0]) < 0
    return line if alone and any(map(str.isalpha, line)) else ""


# Blocks


def _pieces(text: str, group: Sequence[Span]) -> list[Piece]:
    if len(group) > 1 and all(text[line.start : line.end].lstrip().startswith("|") for line in group):
        return [Piece("table", *trim(text, group[0].start, group[-1].end))]
    pieces: list[Piece] = []
    last: LinePart | None = None
    for atom in _atoms(text, group):
        kind: BlockKind = "list" if atom.item else "paragraph"
        if last is not None and last.item == atom.item and not atom.fresh:
            pieces[-1] = Piece(pieces[-1].kind, pieces[-1].start, atom.end)
        else:
            pieces.append(Piece(kind, atom.start, atom.end))
        last = atom
    return pieces


def _atoms(text: str, group: Sequence[Span]) -> Iterator[LinePart]:
    width = wrap_width(group)
    in_list, before = False, group[0]
    for line in group:
        first, *rest = line_parts(text, line)
        is_item = item_marker(text, line) >= 0
        broken = line is not before and deliberate_break(text, before, line, width)
        if in_list and not is_item and (not broken or _indented(text, line, before)):
            first.item = True  # the wrapped rest of an item
        else:
            first.item = is_item
            first.fresh = broken and width > _UNWRAPPED and not is_item
        yield first
        yield from rest
        in_list, before = (rest[-1] if rest else first).item, line


def _indented(text: str, line: Span, before: Span) -> bool:
    return _margin(text, line) > _margin(text, before)


def _margin(text: str, line: Span) -> int:
    part = text[line.start : line.end]
    return len(part) - len(part.lstrip())
