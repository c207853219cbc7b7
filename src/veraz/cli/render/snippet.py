"""The part of a chunk that shows why it was found, and where the question's words are in it. Pure.

An approximation for the eye: PostgreSQL's analysers decide what matches, this only finds words that look alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"\w+")
_QUIET = frozenset(
    """
    a an and are as at be by can do does for from has have how i if in is it its my not of on or should that the this to was
    what when where which who why will with you your
    al como con cual cuando de del donde el en es esta este la las lo los mi no o para por que se si sin son su sus un una y
    au aux avec ce ces comment dans des du elle est et faut il je le les leur ma mes mon ne nous ou pas pour quand quel quelle
    qui sa ses son sur un une vous
    """.split()  # noqa: SIM905
)
_SAME_STEM = 4
"""Two words look alike when they share this many letters or more and differ in at most three at their ends."""


@lru_cache(maxsize=4096)
def folded(word: str) -> str:
    """Lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def terms(question: str) -> tuple[str, ...]:
    """The words of a question that are worth showing, folded, each once."""
    words = (folded(word) for word in _WORD.findall(question))
    return tuple(dict.fromkeys(w for w in words if w not in _QUIET and (len(w) > 1 or w.isdigit())))


def alike(word: str, term: str) -> bool:
    """Both folded."""
    if word == term:
        return True
    shared = 0
    for a, b in zip(word, term, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= _SAME_STEM and max(len(word), len(term)) - shared <= 3


def matches(text: str, wanted: Sequence[str]) -> list[tuple[int, int]]:
    """Where words of `text` look like one of `wanted`: start and end, in order."""
    return [m.span() for m in _WORD.finditer(text) if any(alike(folded(m.group()), t) for t in wanted)]


def window(text: str, wanted: Sequence[str], width: int) -> str:
    """At most `width` characters of `text`, on one line, from where most different question words are; … marks a cut."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    found = [(start, folded(text[start:end])) for start, end in matches(text, wanted)]
    start = max(
        (at for at, _ in found), default=0, key=lambda at: (_variety(found, at, at + width - 2, wanted), -at)
    )
    start = _sentence_start(text, start, found, width) if start else 0
    return _cut(text, start, width)


def _variety(found: Iterable[tuple[int, str]], start: int, end: int, wanted: Sequence[str]) -> int:
    inside = [word for at, word in found if start <= at < end]
    return sum(any(alike(word, term) for word in inside) for term in wanted)


def _sentence_start(text: str, start: int, found: Sequence[tuple[int, str]], width: int) -> int:
    """Back to the beginning of the sentence where that loses no word that was found."""
    last = max((at + len(word) for at, word in found if start <= at < start + width), default=start)
    begin = max(text.rfind(mark, 0, start) for mark in (". ", "! ", "? "))
    begin = begin + 2 if begin >= 0 else 0
    return begin if last - begin <= width - 2 else start


def _cut(text: str, start: int, width: int) -> str:
    before = "… " if start else ""
    rest = text[start:]
    room = width - len(before)
    if len(rest) <= room:
        return before + rest
    kept = rest[: room - 2]
    return before + (kept.rsplit(" ", 1)[0] if " " in kept else kept) + " …"
