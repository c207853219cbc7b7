r"""Emergencies that are happening now are answered by a fixed message, before any search and without any
model.

The rules are data (`routes.toml`). Reading a question takes three steps:

1. fold: lower case, no accents, contractions closed up, known words with one wrong letter repaired;
2. find the concepts of the rules and drop the occurrences that are denied ("no chest pain"), past ("in
   2010"), or inside an impersonal question ("what are the signs of ...");
3. fire the first rule that has all concepts of one alternative left, if somebody in particular is meant.

Decisions where the two mistakes differ in cost, always towards the message:

* "What should I do, my father ...?" is a person in trouble and is routed; "What should I do if I have a
  stroke?" and "if someone has ..." suppose, and are not; "if my child swallowed bleach" is routed, because
  parents ask like this when it has happened.
* "What to do for an iron overdose?" names nobody and is routed all the same: such questions are often a
  shortened cry for help, and the poison centre answers both kinds.
* Chest pain with breathlessness, stroke signs and unconsciousness are routed when they are merely listed,
  unless the words ask for knowledge ("symptoms", "causes", a question word).
"""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from veraz.errors import ConfigError
from veraz.nouns.answer import Route

RULES_FILE = Path(__file__).with_name("routes.toml")
CATEGORY = "emergency"

_HEAD, _TAIL = 3000, 1000  # code points read of a very long question: some patterns are quadratic
_NEGATION_REACH = 4  # tokens between a negator and what it denies
_SENTENCE_END = re.compile(r"(?<=[.!?;\n])\s*(?=\S)|[\n;]+")
_CLAUSE_END = re.compile(
    r"[,:()—–]|\s-\s|\b(?:and|but|so|because|then|now|(?<!il )y|pero|porque|ahora|et|mais|car|maintenant)\b"
)
_WHOLE_CLAUSE = re.compile(r"\b(?:when|cuando|quand)\b|^\s*(?:in|en|last|two|three|el|l|il y a|hace)\b")
_CONTRACTION = re.compile(r"'(?=(?:t|m|s|re|ve|d|ll)\b)")
_DECIMAL = re.compile(r"(?<=\d)[.,](?=\d)")
_WORD = re.compile(r"[a-z]{5,}|\b[b-df-hj-np-tv-xz]{4}\b")  # short words only without a vowel: "chst"


@dataclass(frozen=True, slots=True)
class Rule:
    """`person`: somebody must be meant. `bare`: a mere list of signs is enough. `impersonal`: questions
    that name nobody count too. `unless`: concepts that call the rule off."""

    id: str
    message: str
    alternatives: tuple[tuple[str, ...], ...]
    person: bool = True
    bare: bool = False
    impersonal: bool = False
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """How questions are read, compiled from the `reading` table."""

    fillers: re.Pattern[str]
    asks: re.Pattern[str]
    topics: re.Pattern[str]
    person: re.Pattern[str]
    generic: re.Pattern[str]
    negators: re.Pattern[str]
    ended: re.Pattern[str]
    past: re.Pattern[str]
    vocabulary: frozenset[str]
    not_typos: frozenset[str]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Compiled rules. `concepts` maps concept → language → pattern; `messages` maps kind → language →
    text."""

    reading: Reading
    concepts: Mapping[str, Mapping[str, re.Pattern[str]]]
    rules: tuple[Rule, ...]
    messages: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    personal: bool
    asks: bool


def route(question: str, lang: str | None = None, rules: RuleSet | None = None) -> Route | None:
    """The emergency route for `question`, or None when it is an ordinary question.

    The message is in the language whose patterns matched (en, es or fr), which is surer than detection on a
    short text; `lang` decides only when several matched.
    """
    rules = rules or builtin_rules()
    sentences = _read(_ends(question), rules.reading)
    somebody = any(s.personal for s in sentences)
    for rule in rules.rules:
        matched = _fires(rule, sentences, somebody, rules)
        if matched:
            spoken = lang if lang in matched else matched[0]
            return Route(rule=rule.id, category=CATEGORY, message=rules.messages[rule.message][spoken])
    return None


def _ends(question: str) -> str:
    return question if len(question) <= _HEAD + _TAIL else f"{question[:_HEAD]}\n{question[-_TAIL:]}"


@lru_cache(maxsize=1)
def builtin_rules() -> RuleSet:
    """The rules that ship with Veraz."""
    return load_rules(RULES_FILE)


def load_rules(path: Path) -> RuleSet:
    """Compile a rules file. Raises ConfigError naming the rule or the pattern that cannot be used."""
    table = tomllib.loads(path.read_text("utf-8"))
    macros: Mapping[str, str] = table["macro"]
    concepts = {
        name: {lang: _compile(patterns, macros, f"concept.{name}.{lang}") for lang, patterns in langs.items()}
        for name, langs in table["concept"].items()
    }
    rules = tuple(_rule(entry, concepts, table["message"], path) for entry in table["rule"])
    return RuleSet(_reading(table["reading"], macros), concepts, rules, table["message"])


def fold(text: str, reading: Reading | None = None) -> str:
    """The form on which patterns are matched: lower case, no accents, contractions closed up, typos
    repaired."""
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_QUOTES))
    folded = "".join(char for char in folded if not unicodedata.combining(char))
    folded = _CONTRACTION.sub("", folded).replace("'", " ")
    folded = re.sub(r"[-_/](?=\w)", " ", folded)
    folded = re.sub(r"[^\w\s.,;:!?()—–-]", " ", folded)
    folded = re.sub(r"[^\S\n]+", " ", folded).strip()
    return _repair(folded, reading) if reading else folded


_QUOTES = {ord(quote): "'" for quote in "’‘‛`´ʼ＇"} | {ord(mark): " " for mark in '¿¡"“”«»'}


def _read(question: str, reading: Reading) -> list[_Sentence]:
    folded = reading.fillers.sub(" ", fold(question, reading))
    folded = _DECIMAL.sub("_", folded)  # 38.5 is not two sentences
    parts = [part.strip().replace("_", ".") for part in _SENTENCE_END.split(folded) if part.strip()]
    return [_sentence(part, reading) for part in parts]


def _sentence(text: str, reading: Reading) -> _Sentence:
    particular = reading.generic.sub(" ", text)
    personal = reading.person.search(particular) is not None
    asks = (
        reading.asks.match(text) is not None or reading.topics.search(text) is not None or text.endswith("?")
    )
    return _Sentence(text, personal, asks)


def _fires(rule: Rule, sentences: Sequence[_Sentence], somebody: bool, rules: RuleSet) -> tuple[str, ...]:
    """Languages in which one alternative is complete, in the order en, es, fr; empty when the rule does not
    fire."""
    bare = rule.bare and not any(s.asks for s in sentences)
    if rule.person and not somebody and not bare:
        return ()
    usable = [s for s in sentences if s.personal or not s.asks or rule.impersonal or not rule.person]
    if any(_alive(name, usable, rules) for name in rule.unless):
        return ()
    for alternative in rule.alternatives:
        found = [_alive(name, usable, rules) for name in alternative]
        if all(found):
            return found[0]
    return ()


def _alive(concept: str, sentences: Sequence[_Sentence], rules: RuleSet) -> tuple[str, ...]:
    return tuple(
        lang
        for lang, pattern in rules.concepts[concept].items()
        if any(_counts(match, s.text, rules.reading) for s in sentences for match in pattern.finditer(s.text))
    )


def _counts(match: re.Match[str], text: str, reading: Reading) -> bool:
    """Whether an occurrence is neither denied, nor over, nor past."""
    generic = any(g.start() <= match.start() < g.end() for g in reading.generic.finditer(text))
    before = _CLAUSE_END.split(text[: match.start()])[-1].split()
    denied = reading.negators.search(" ".join(before[-_NEGATION_REACH:])) is not None
    over = reading.ended.match(text[match.end() :]) is not None
    return not (generic or denied or over or _is_past(match, text, reading))


def _is_past(match: re.Match[str], text: str, reading: Reading) -> bool:
    """A past marker counts in its own clause; one that opens the sentence ("when I was 16, ...") reaches
    the next."""
    edges = [0, *(end.end() for end in _CLAUSE_END.finditer(text)), len(text)]
    clauses = [(a, b) for a, b in itertools.pairwise(edges) if b > a]
    marked = [reading.past.search(text[a:b]) is not None for a, b in clauses]
    for i, (start, end) in enumerate(clauses):
        if start < match.end() and match.start() < end and marked[i]:
            return True
    reach = len(clauses) > 1 and marked[0] and _WHOLE_CLAUSE.search(text[: clauses[0][1]]) is not None
    return reach and clauses[1][0] <= match.start() < clauses[1][1] and not _names_now(text, clauses[1][0])


def _names_now(text: str, at: int) -> bool:
    return re.search(r"\b(?:now|but|ahora|pero|maintenant|mais)\W*$", text[:at]) is not None


def _repair(text: str, reading: Reading) -> str:
    return _WORD.sub(lambda m: _nearest(m.group(), reading.vocabulary, reading.not_typos), text)


@lru_cache(maxsize=4096)
def _nearest(word: str, vocabulary: frozenset[str], not_typos: frozenset[str]) -> str:
    if word in vocabulary or word in not_typos:
        return word
    return next((known for known in sorted(vocabulary) if _one_letter_apart(word, known)), word)


def _one_letter_apart(a: str, b: str) -> bool:
    """Damerau–Levenshtein distance 1: one letter changed, missing, added, or two neighbours swapped."""
    if abs(len(a) - len(b)) > 1:
        return False
    short, long = sorted((a, b), key=len)
    at = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or swapped


def _compile(
    patterns: Sequence[str], macros: Mapping[str, str], where: str, wrap: str = r"\b(?:{})(?!\w)"
) -> re.Pattern[str]:
    joined = "|".join(patterns)
    for _ in range(2):  # macros may use macros, one level deep
        joined = re.sub(r"\{([a-z]+)\}", lambda m: macros.get(m.group(1), m.group()), joined)
    try:
        return re.compile(wrap.replace("{}", joined))
    except re.error as error:
        raise ConfigError(
            f"{where}: not a regular expression ({error})", fix="correct the pattern in the rules file"
        ) from error


def _reading(table: Mapping[str, Any], macros: Mapping[str, str]) -> Reading:
    def any_of(key: str, wrap: str = r"(?:{})") -> re.Pattern[str]:
        value = table[key]
        return _compile([value] if isinstance(value, str) else value, macros, f"reading.{key}", wrap)

    return Reading(
        fillers=any_of("fillers", r"\b(?:{})\b"),
        asks=any_of("asks", r"^\W*(?:(?:please|hi|hello|hey|so|and|ok|well|hola|bonjour|y|et)\W+)*(?:{})\b"),
        topics=any_of("topics"),
        person=any_of("person"),
        generic=any_of("generic"),
        negators=any_of("negators", r"\b(?:{})\b"),
        ended=any_of("ended"),
        past=any_of("past"),
        vocabulary=frozenset(table["vocabulary"]),
        not_typos=frozenset(table["not_typos"]),
    )


def _rule(
    entry: Mapping[str, Any], concepts: Mapping[str, Any], messages: Mapping[str, Any], path: Path
) -> Rule:
    named = {name for alternative in entry["alternatives"] for name in alternative} | set(
        entry.get("unless", ())
    )
    missing = sorted(named - set(concepts)) + [entry["message"]] * (entry["message"] not in messages)
    if missing:
        raise ConfigError(
            f"{path.name}: rule {entry['id']} names {', '.join(missing)}", fix="define it or correct the name"
        )
    return Rule(
        id=entry["id"],
        message=entry["message"],
        alternatives=tuple(tuple(alternative) for alternative in entry["alternatives"]),
        person=entry.get("person", True),
        bare=entry.get("bare", False),
        impersonal=entry.get("impersonal", False),
        unless=tuple(entry.get("unless", ())),
    )
