"""Words, light stems and question terms: how a question's words are found in a text.

The terms of a question usually come from the database with their weights, as lexemes of a Snowball stemmer;
here they are matched against plain words. Matching is therefore forgiving: same light stem, or the lexeme
as the beginning of the word. It is used to rank and to refuse, never to quote.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+(?:[’'][^\W\d_]+)?")
_IDENTIFIER = re.compile(
    r"(?<![\w.])(?=[\w-]*\d)(?=[\w-]*[^\W\d_])[^\W_]+(?:-[^\W_]+)*(?![\w-])"
)  # letters and digits: E-4021, B12
_ORDINARY = re.compile(
    r"\d+(?:st|nd|rd|th|s|er|ere|eme|ª|º|a|o|mg|g|kg|mcg|µg|μg|ug|ml|l|dl|cl|iu|ui|mmhg|mmol|cm|mm|m|km|h"
    r"|hr|hrs|min|s"
    r"|sec|x|c|f|am|pm|k|nm|hz|kj|kcal)|(?:\d+-)+[a-z-]+",
    re.I,
)  # 500mg, 2nd, 24h, 3-year-old: quantities, not names
_SPACED = re.compile(r"(?<=[a-z])[\s-]+(?=\d)|(?<=\d)[\s-]+(?=[a-z]\b)")

_LISTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("stopwords.toml").read_text("utf-8"))
ASKING: tuple[str, ...] = tuple(_LISTS["asking"].split())
STOP_WORDS: Mapping[str, frozenset[str]] = {
    lang: frozenset(listed.split()) for lang, listed in _LISTS.items() if lang != "asking"
}
_ANY_STOP = frozenset().union(*STOP_WORDS.values())
_SUFFIXES = (
    "ization",
    "isation",
    "ingly",
    "edly",
    "ities",
    "ments",
    "ment",
    "ness",
    "ing",
    "ies",
    "ied",
    "ely",
    "ed",
)
_SHORT_SUFFIXES = ("es", "er", "ar", "ir", "ly", "s", "e", "a", "o", "y", "i")


def fold(text: str) -> str:
    """Lower case without accents, for comparing only."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def words(text: str) -> list[str]:
    """Folded words and numbers in order; "l'eau" and "child's" give their stem word."""
    return [_unelided(match) for match in _WORD.findall(fold(text))]


def content_words(text: str, lang: str = "") -> list[str]:
    """Words that say what a text is about: no stop words (of `lang`, or of all known languages) and no lone
    letters."""
    stop = STOP_WORDS.get(lang, _ANY_STOP)
    return [word for word in words(text) if word not in stop and (len(word) > 1 or word.isdigit())]


def stems(text: str, lang: str = "") -> frozenset[str]:
    return frozenset(stem(word) for word in content_words(text, lang))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A light stem shared by English, Spanish and French inflections. It may be shorter than a
    dictionary's; what counts is that inflections of a word meet. At least four letters stay (three before a
    plural s)."""
    if word.isdigit():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            word = word[: -len(suffix)]
            break
    while (shorter := _shorter(word)) != word:
        word = shorter
    return word


def _shorter(word: str) -> str:
    if word.endswith("s") and len(word) == 4:
        return word[:-1]
    return next(
        (word[: -len(s)] for s in _SHORT_SUFFIXES if word.endswith(s) and len(word) - len(s) >= 4), word
    )


def content_terms(question: str, lang: str = "") -> dict[str, float]:
    """Fallback for weights from the database: every content word weighs 1, identifiers 2."""
    weights = dict.fromkeys(content_words(question, lang), 1.0)
    for name in identifiers(question):
        for part in content_words(name, lang):
            weights[part] = 2.0
    return weights


def subject_words(question: str, lang: str = "") -> tuple[str, ...]:
    """The content words that name a subject: without those that only ask ("treated", "kinds of"), unless nothing else is left."""
    found = tuple(content_terms(question, lang))
    return tuple(word for word in found if word not in ASKING) or found


def identifiers(text: str) -> list[str]:
    """Names made of letters and digits (E-4021, CVE-2024-1, B12), without quantities such as 500mg or
    3-year-old."""
    return [found for found in _IDENTIFIER.findall(text) if not _ORDINARY.fullmatch(found)]


def squash(text: str) -> str:
    """The form in which spellings of one identifier are equal: "E-4021", "E 4021" and "e4021" become
    "e4021"."""
    return _SPACED.sub("", fold(text)).replace("-", "")


def mentions(name: str, text: str) -> bool:
    """Whether an identifier occurs in a text, in any of its usual spellings and not inside a longer one."""
    return re.search(rf"(?<![a-z0-9]){re.escape(squash(name))}(?![a-z0-9])", squash(text)) is not None


@dataclass(frozen=True, slots=True)
class Terms:
    """Weighted terms of a question. `weights` maps term or lexeme → weight > 0, usually its IDF."""

    weights: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.weights.values())

    def found(self, texts: str | Iterable[str]) -> frozenset[str]:
        """The terms that occur in a text, or in any of several."""
        terms = tuple(self.weights)
        if isinstance(texts, str):
            return _found(terms, texts)
        return frozenset().union(*(_found(terms, text) for text in texts))

    def share(self, found: Iterable[str]) -> float:
        """Weight of some terms over the weight of all, 0..1; 0 for a question without terms."""
        total = self.total
        return sum(self.weights[term] for term in found) / total if total > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _Read:
    """A text's words, in order of the alphabet, and their stems."""

    words: tuple[str, ...]
    present: frozenset[str]
    stemmed: frozenset[str]


@lru_cache(maxsize=8192)
def _read(text: str) -> _Read:
    """Kept, because a question's rules and scores ask the same sentences many things."""
    present = frozenset(words(text))
    return _Read(tuple(sorted(present)), present, frozenset(map(stem, present)))


class _Way(NamedTuple):
    """How a term may be written: folded, as its stem, and how a word may begin that is an inflection of it; "" for none."""

    term: str
    folded: str
    stemmed: str
    lexeme: str
    identifier: bool


@lru_cache(maxsize=8192)
def _found(terms: tuple[str, ...], text: str) -> frozenset[str]:
    """Kept like the words of a text: each of its sentences stands under the same headings."""
    read = _read(text)
    return frozenset(
        way.term
        for way in _all_ways(terms)
        if _occurs(way, read) or (way.identifier and mentions(way.term, text))
    )


@lru_cache(maxsize=1024)
def _all_ways(terms: tuple[str, ...]) -> tuple[_Way, ...]:
    return tuple(map(_way, terms))


def _way(term: str) -> _Way:
    folded = fold(term)
    lexeme = folded.rstrip("i") if len(folded) > 4 else folded  # Snowball writes "therapy" as "therapi"
    begins = lexeme if len(lexeme) >= 4 else ""
    return _Way(term, folded, stem(folded), begins, _IDENTIFIER.fullmatch(term) is not None)


def _occurs(way: _Way, text: _Read) -> bool:
    if way.folded in text.present or way.stemmed in text.stemmed:
        return True
    begins = way.lexeme
    if not begins:
        return False
    for word in islice(text.words, bisect_left(text.words, begins), None):
        if not word.startswith(begins):
            return False
        if len(word) - len(begins) <= 4:
            return True
    return False


def _unelided(word: str) -> str:
    head, quote, tail = word.replace("’", "'").partition("'")
    if not quote:
        return word
    return tail if len(head) <= 2 and len(tail) > 2 else head if tail == "s" else head + tail
