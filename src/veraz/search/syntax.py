"""What quotation marks, `-word` and OR in a question ask for. Pure.

They mean what they mean in PostgreSQL's websearch_to_tsquery, where a reader's marks can hardly mean anything else; everywhere
else they are text, and a question without such marks is left as it is:

- "…", “…”, „…“ and «…»: these words, side by side in this order, must be there; not after a letter, a digit or a prime (5'10").
- -word and -"…": passages that hold it are left out. The sign is a hyphen after a blank, or at the very beginning, and before two
  letters or a quotation mark: drug-drug, -20, E -4021, vitamin -D and bullets of a list are text. So is a word that the question
  also asks for, and every sign where nothing would be left to search for.
- OR, in capitals, between alternatives, once a quotation or an exclusion makes one of them more than words. It binds weaker than
  everything else. An alternative of words alone then needs all of them.

Plain words are never required: they rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

__all__ = ["Alternative", "Reading", "read"]


class Alternative(msgspec.Struct, frozen=True):
    """What a passage must hold, side by side; what it must not; and words, which count where there is neither."""

    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    words: str = ""

    @property
    def marked(self) -> bool:
        return bool(self.phrases or self.without)


@dataclass(frozen=True, slots=True)
class Reading:
    """`text`: the question without marks and without what it excludes. A passage must meet one of the `alternatives`, if there
    are any."""

    text: str
    alternatives: tuple[Alternative, ...] = ()

    @property
    def condition(self) -> str | None:
        """As the function veraz.condition() takes it."""
        return msgspec.json.encode(self.alternatives).decode() if self.alternatives else None

    @property
    def is_selective(self) -> bool:
        """Whether each alternative names words that must be there, so that passages can be found by them."""
        return bool(self.alternatives) and all(a.phrases or not a.marked for a in self.alternatives)

    @property
    def phrases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p for a in self.alternatives for p in a.phrases))

    @property
    def without(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(w for a in self.alternatives for w in a.without))


_QUOTED = r'"(?=\S)[^"\n]+(?<=\S)"|“[^“”\n]+”|„[^„“”\n]+[“”]|«[^«»\n]+»'
_TOKEN = re.compile(
    rf"""(?P<without>(?:(?<=[^\S\n])|\A)-(?:(?:{_QUOTED})(?!\w)|[^\W\d_]{{2}}[^\s"“”„«»]*))
       | (?P<phrase>(?<![\w'’′″])(?:{_QUOTED})(?!\w))
       | (?P<or>(?<=\s)OR(?=\s))
       | (?P<words>\S)""",
    re.VERBOSE,
)
_WORD = re.compile(r"\w+")


def read(question: str) -> Reading:
    tokens = [(match.lastgroup or "", match) for match in _TOKEN.finditer(question)]
    excluded = _exclusions(question, tokens)
    if not excluded and not any(kind == "phrase" and _words(match[0]) for kind, match in tokens):
        return Reading(question)
    text, alternatives = _assembled(question, tokens, excluded)
    if not _words(text):
        return Reading(question)
    return Reading(text, tuple(alternatives))


_Tokens = Sequence[tuple[str, re.Match[str]]]


def _exclusions(question: str, tokens: _Tokens) -> dict[int, str]:
    """By their place: those that say a word that the same alternative does not ask for."""
    found: dict[int, str] = {}
    cuts = [i for i, (kind, _) in enumerate(tokens) if kind == "or"]
    for first, last in pairwise([-1, *cuts, len(tokens)]):
        own = tokens[first + 1 : last]
        asked = set(_words("".join(_text(question, own))))
        for kind, match in own:
            words = _words(match[0]) if kind == "without" else []
            if words and not asked.issuperset(words):
                found[match.start()] = _bare(match[0])
    return found


def _text(question: str, tokens: _Tokens) -> Iterator[str]:
    """What tokens say, exclusions left out, with the blanks before them."""
    end = 0
    for kind, match in tokens:
        yield " " if kind == "without" else question[max(end, match.start() - 1) : match.end()]
        end = match.end()


def _assembled(question: str, tokens: _Tokens, excluded: dict[int, str]) -> tuple[str, list[Alternative]]:
    text, groups = list(question), [_Group()]
    for kind, match in tokens:
        start, end = match.span()
        if kind == "or":
            groups.append(_Group())
            text[start:end] = " " * (end - start)
        elif kind == "without" and start in excluded:
            groups[-1].without.append(excluded[start])
            text[start:end] = " " * (end - start)
        elif kind == "phrase" and _words(match[0]):
            groups[-1].phrases.append(_bare(match[0]))
            text[start] = text[end - 1] = " "
        else:
            groups[-1].places.append((start, end))
    return " ".join("".join(text).split()), list(_alternatives("".join(text), groups))


class _Group:
    def __init__(self) -> None:
        self.phrases: list[str] = []
        self.without: list[str] = []
        self.places: list[tuple[int, int]] = []


def _alternatives(text: str, groups: Sequence[_Group]) -> Iterator[Alternative]:
    for group in groups:
        words = text[group.places[0][0] : group.places[-1][1]].strip() if group.places else ""
        one = Alternative(tuple(group.phrases), tuple(group.without))
        if one.marked:
            yield one
        elif _words(words):
            yield Alternative(words=words)


def _bare(marked: str) -> str:
    return marked.lstrip("-").strip('"“”„«» \t\u00a0\u202f.,;:!?()[]')


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
