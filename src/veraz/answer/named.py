"""Whether a sentence is about what a question names: a code (E-4102), a medicine (warfarin), a strength (ibuprofen 400 mg), a
numbered kind (type 2). Pure.

A sentence that carries no name of its own belongs to the name that its section, heading or title carries, the nearest first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from veraz.answer.numerals import spelled
from veraz.answer.quantities import covers, quantities
from veraz.answer.sentences import Candidate
from veraz.answer.subjects import medicines
from veraz.answer.words import fold, identifiers, mentions, squash

_NUMBERED = re.compile(
    r"\b(type|tipo|typ|stage|grade|grado|phase|fase|class|clase|classe|factor|interleukin|level|nivel|step|paso|annex|anexo"
    r"|article|articulo|section|rule|regla|table|tabla|rev|revision|version|edition|model|modelo)[ -]?(\d+)\b"
)
_STRENGTH = re.compile(r"\b([a-z]{4,}) (?:de )?(\d+(?:[.,]\d+)?) ?(?:mg|mcg|µg|μg|ug|g|ml|iu|ui)\b")
_SPACED = re.compile(
    r"\b([A-Z]{1,3}) (?!(?:19|20)\d\d\b)(\d{3,})\b"
)  # "E 4102"; "A 2019 study" names no code
Sections = Mapping[object, Mapping[int, str]]
"""Bodies of the chunks found of each section, by their place in the document."""
_DOSING = re.compile(r"dose|dosis|take|tome|prenez|give|with|than|over|under|about|above|below|each|daily")
# What the endings of medicines also match, and names of whole groups, whose members texts name instead.
_NO_ONE_MEDICINE = re.compile(r"\w*sterol|steroids?|insulin")
_SAME_BEGINNING = (
    6  # letters that one medicine has in every language: atorvastatin, atorvastatina, atorvastatine
)


def about(question: str, pool: Sequence[Candidate]) -> list[Candidate]:
    """Those that are about what the question names; all of them where it names nothing."""
    asked = identifiers(_SPACED.sub(r"\1-\2", question))
    numbered, strengths = _numbered(question), _strengths(question)
    taken = _beginnings(question)
    if not (asked or numbered or strengths or taken):
        return list(pool)
    sections = _sections(pool)
    return [
        c
        for c in pool
        if _carries(c, asked, sections)
        and not _another(c, numbered, strengths)
        and not _of_another_medicine(c, taken)
    ]


def _of_another_medicine(candidate: Candidate, taken: frozenset[str]) -> bool:
    """Title, headings and chunk name medicines, and none of those asked about: a dose that stands there is another one's."""
    if not taken:
        return False
    hit = candidate.hit
    named = _beginnings("\n".join((hit.document.title, *hit.heading_path, hit.body)))
    return bool(named) and not named & taken


def _beginnings(text: str) -> frozenset[str]:
    return frozenset(m[:_SAME_BEGINNING] for m in medicines(text) if not _NO_ONE_MEDICINE.fullmatch(m))


def _carries(candidate: Candidate, asked: Sequence[str], sections: Sections) -> bool:
    """Some identifier of the question is carried, and of no kind (E-…) another one instead of it."""
    kinds: dict[str, list[str]] = {}
    for name in asked:
        kinds.setdefault(_kind(name), []).append(name)
    found = [_verdict(candidate, kind, group, sections) for kind, group in kinds.items()]
    return not found or (True in found and False not in found)


def _verdict(candidate: Candidate, kind: str, group: Sequence[str], sections: Sections) -> bool | None:
    """True: about one of the group, False: about another of its kind, None: neither is said. A heading that names several leaves
    it to the text above the sentence."""
    own = _said(candidate.shown, kind, group)
    if own:
        return True in own
    for text in (*reversed(candidate.hit.heading_path), candidate.hit.document.title):
        said = set(_said(text, kind, group))
        if len(said) == 1:
            return said.pop()
        if said:
            break
    above = _said(_above(candidate, sections), kind, group)
    rest = above[-1:] or _said(candidate.hit.body, kind, group)
    return all(rest) if rest else None


def _said(text: str, kind: str, group: Sequence[str]) -> list[bool]:
    """For each name of the kind in a text, in order, whether it is one of the group."""
    named = {squash(name) for name in group}
    found = [squash(name) in named for name in identifiers(text) if _kind(name) == kind]
    return found or [True] * any(mentions(name, text) for name in group)


def _another(
    candidate: Candidate, numbered: Mapping[str, set[str]], strengths: Mapping[str, set[float]]
) -> bool:
    """Another number of the kind, or another strength of the medicine, is what the sentence or its nearest heading is about."""
    lang = candidate.hit.document.lang
    sentence = spelled(candidate.shown, lang)
    texts = [candidate.shown, *reversed(candidate.hit.heading_path), candidate.hit.document.title]
    for kind, wanted in numbered.items():
        said = next((found[kind] for text in texts if kind in (found := _numbered(text))), wanted)
        if not said & wanted:
            return True
    for medicine, wanted_strengths in strengths.items():
        shown = _strengths(sentence).get(medicine, wanted_strengths)
        known = quantities(candidate.shown, lang)
        if not shown & wanted_strengths and not any(covers(q, n) for q in known for n in wanted_strengths):
            return True
    return False


def _numbered(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for kind, number in _NUMBERED.findall(fold(text)):
        found.setdefault(kind, set()).add(number)
    return found


def _strengths(text: str) -> dict[str, set[float]]:
    """Numbers as `covers` compares them, by the word before them; of a text whose numerals are spelled."""
    found: dict[str, set[float]] = {}
    for medicine, number in _STRENGTH.findall(fold(text)):
        if not _DOSING.fullmatch(medicine):
            found.setdefault(medicine, set()).add(float(number.replace(",", ".")))
    return found


def _kind(name: str) -> str:
    return squash(name).rstrip("0123456789")


def _above(candidate: Candidate, sections: Sections) -> str:
    """What its section says before it, as far as it was found."""
    hit = candidate.hit
    earlier = [body for ord_, body in sections[_section(candidate)].items() if ord_ < hit.ord]
    return "\n".join((*earlier, hit.body[: max(0, hit.body.find(candidate.quote))]))


def _section(candidate: Candidate) -> tuple[object, ...]:
    return (*candidate.key, candidate.hit.heading_path)


def _sections(pool: Sequence[Candidate]) -> Sections:
    found: dict[object, dict[int, str]] = {}
    for c in sorted(pool, key=lambda c: c.hit.ord):
        found.setdefault(_section(c), {})[c.hit.ord] = c.hit.body
    return found
