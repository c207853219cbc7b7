"""Which known word a word that nobody wrote was meant to be. Pure.

A word is only read as another that differs by one slip: a letter changed, left out, added, or exchanged with its neighbour, and
in short words not the first letter changed. In words of eight letters and more two slips are allowed, where each is one that is
made without noticing: a letter for one that sounds alike, doubled or not doubled, exchanged with its neighbour. That keeps pairs
of names apart that look alike (prednisone and prednisolone, quinine and quinidine, hypothyroidism and hyperthyroidism): names
that only a longer distance joins are other names. So are words that begin with opposites, as near as macro and micro are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SHORTEST = 4
"""Letters. In a shorter word one slip makes too many other words."""
LONG = 8
MOST_WORDS = 6
"""Of one question are looked up; who makes more slips than that asks again."""
_WORD = re.compile(rf"(?<![\w'’-])[^\W\d_]{{{SHORTEST},40}}(?![\w'’-])")


@dataclass(frozen=True, slots=True)
class Similar:
    """A lexeme of the vocabulary near that of a word; `similarity` of their trigrams in 0..1."""

    word: str
    wanted: str
    analyser: str
    lexeme: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Known:
    """A word that `passages` hold which the caller may read: counted up to 30."""

    word: str
    passages: int


def words(question: str) -> list[str]:
    """Those that may be misspelt, each once, in order: letters alone, not a part of a compound."""
    return list(dict.fromkeys(_WORD.findall(question)))


def plausible(found: Iterable[Similar]) -> list[Similar]:
    """Those that a slip explains, nearest first. Stems are compared, and the word itself: a slip may change its stem."""
    kept = [
        (slips, one)
        for one in found
        if (slips := min(_slips(one.wanted, one.lexeme), _slips(one.word.lower(), one.lexeme))) < TOO_MANY
    ]
    kept.sort(key=lambda pair: (pair[0], -pair[1].similarity, pair[1].lexeme, pair[1].analyser))
    return [one for _, one in kept]


def chosen(likely: Iterable[Similar], readable: Mapping[tuple[str, str], Known]) -> dict[str, str]:
    """For each misspelt word the readable one that is nearest as it is written; of equals the one that more passages hold, since
    documents have slips too; then the first."""
    best: dict[str, tuple[tuple[int, int], str]] = {}
    for one in likely:
        known = readable.get((one.analyser, one.lexeme))
        if known is not None:
            worth = -distance(one.word.lower(), known.word.lower()), known.passages
            if one.word not in best or worth > best[one.word][0]:
                best[one.word] = worth, known.word if one.word[0].isupper() else known.word.lower()
    return {word: known for word, (_, known) in best.items()}


TOO_MANY = 9


def _slips(wanted: str, lexeme: str) -> int:
    """How many, or `TOO_MANY`."""
    if min(len(wanted), len(lexeme)) < SHORTEST or wanted == lexeme:
        return TOO_MANY
    if _are_opposites(wanted, lexeme):
        return TOO_MANY
    is_long = min(len(wanted), len(lexeme)) >= LONG
    if not is_long and not _same_start(wanted, lexeme):
        return TOO_MANY
    slips = distance(wanted, lexeme)
    if slips == 1 or (is_long and slips == 2 and unnoticed(wanted, lexeme) == 2):
        return slips
    return TOO_MANY


def _same_start(a: str, b: str) -> bool:
    """The first letter is the same, or the first two are exchanged."""
    return a[0] == b[0] or a[:2] == b[1::-1]


OPPOSITES = tuple(
    frozenset(group.split())
    for group in (
        "macro micro",
        "ante anti",
        "intra infra inter",
        "abduc adduc",
        "abduk adduk",
    )
)
"""Beginnings of words, of the languages that have analysers, that say opposite things and are a slip apart."""


def _are_opposites(a: str, b: str) -> bool:
    """Whether they begin with members of one group, and not both with the same."""
    for group in OPPOSITES:
        first, second = _beginning(a, group), _beginning(b, group)
        if first and second and first != second:
            return True
    return False


def _beginning(word: str, group: frozenset[str]) -> str | None:
    return next((start for start in group if word.startswith(start)), None)


def distance(a: str, b: str) -> int:
    """Letters changed, left out, added, or exchanged with their neighbour, each place once (optimal string alignment)."""
    before: Sequence[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]


ALIKE = ("aeiouyáéíóúàèìòùäëïöüâêîôû", "ckqszç", "bvfw", "mn", "gj")
"""Letters that sound alike in some language that has an analyser."""


def unnoticed(a: str, b: str) -> int:
    """How many slips that are made without noticing lead from one word to the other: a letter for one of those that sound alike,
    doubled or not, exchanged with its neighbour. `TOO_MANY` where none do."""
    before: Sequence[int] = []
    last = [0, *[TOO_MANY] * len(b)]
    for i, x in enumerate(a, 1):
        row = [TOO_MANY]
        for j, y in enumerate(b, 1):
            best = last[j - 1] + (0 if x == y else 1 if _sound_alike(x, y) else TOO_MANY)
            if _is_double(a, i - 1):
                best = min(best, last[j] + 1)
            if _is_double(b, j - 1):
                best = min(best, row[j - 1] + 1)
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                best = min(best, before[j - 2] + 1)
            row.append(min(best, TOO_MANY))
        before, last = last, row
    return last[-1]


def _sound_alike(x: str, y: str) -> bool:
    return any(x in group and y in group for group in ALIKE)


def _is_double(word: str, at: int) -> bool:
    return at > 0 and word[at] == word[at - 1]


def respelt(question: str, spellings: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: spellings.get(match[0], match[0]), question)
