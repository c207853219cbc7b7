"""Sources that disagree, found by rules: the same subject with other numbers, or with the opposite advice.

Statements of different documents are compared pairwise. They must be about the same thing (most content
words of the shorter one shared, headings and title counting as context; the same population, ages and
medicines; vectors no further apart than is usual among these statements) before their quantities or their
advice are compared. A range inside another, ranges that meet, and different units are no conflict.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import numpy.typing as npt

from veraz.answer.numerals import spelled
from veraz.answer.quantities import Quantity, ages, compatible, is_unit, quantities
from veraz.answer.select import Scored, Selection, citation
from veraz.answer.subjects import medicines, polarity, populations
from veraz.answer.words import STOP_WORDS, Terms, content_words, stem, stems, words
from veraz.nouns.answer import Citation, Conflict, ConflictSide

_SHARED = 0.5  # of the content words of the statement that has fewer
_TOPIC_WORDS = 8
_TOPIC_LENGTH = 90
_ADVICE = stems(
    "recommends recommended advised advises advise must never avoid usually generally usual longer"
    " recomienda recommande doit aconseja conseille"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that may disagree with another. `document` identifies its document across revisions;
    `names` are its publisher's and source's names, whose words say nothing about the subject; `context` is
    title and headings; `cells` is what a row of a table says without the names of its columns, else empty."""

    text: str
    context: str
    citations: tuple[int, ...]
    document: tuple[str, str]
    authority: int = 3
    revised_at: date | None = None
    names: str = ""
    lang: str = ""
    vector: npt.NDArray[np.float32] | None = None
    cells: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is compared of a statement."""

    own: frozenset[str]
    around: frozenset[str]
    quantities: tuple[Quantity, ...]
    ages: frozenset[str]
    populations: frozenset[str]
    medicines: frozenset[str]
    polarity: int
    cells: frozenset[str]


def conflicts(
    statements: Sequence[Statement], *, terms: Mapping[str, float] | None = None, limit: int = 3
) -> tuple[Conflict, ...]:
    """Disagreements, each with one side for every value or advice; sides by authority, then date, newest
    first.

    With `terms` (the question's words and weights) only statements that hold, with their context, at least
    half of the question's weight take part. At most `limit` conflicts, those of the highest authority
    first.
    """
    asked = Terms(terms or {})
    kept = [
        s
        for s in statements
        if not terms or asked.share(asked.found(spelled(f"{s.context} {s.text}", s.lang))) >= 0.5
    ]
    kept.sort(key=_precedence)
    read = [_read(s) for s in kept]
    near = _usual_nearness(kept)
    opposed = [
        (i, j, kind)
        for i, j in itertools.combinations(range(len(kept)), 2)
        if kept[i].document != kept[j].document and _nearness(kept[i], kept[j]) >= near - 1e-6
        for kind in _disagreements(read[i], read[j])
    ]
    found: list[Conflict] = []
    used: set[int] = set()
    for i, j, kind in opposed:
        if i in used or j in used:
            continue
        group = [i, j, *_joining(kept, read, (i, j), kind)]
        used.update(group)
        found.append(_conflict(kept, read, group, kind))
    return tuple(found[:limit])


def disagreements(
    selection: Selection, *, terms: Mapping[str, float] | None = None, within: float = 0.3, most: int = 24
) -> tuple[tuple[Conflict, ...], tuple[Citation, ...]]:
    """Conflicts of the selection's claims with the best-scored sentences, and the selection's citations
    with those appended that only a conflict uses. Sentences that score more than `within` below the best,
    or rank after `most`, are left out.
    """
    cited = {(c.source, c.external_id, c.revision, c.start, c.end): c for c in selection.citations}
    taken = [s for s in selection.scored[:most] if s.score >= selection.scored[0].score - within]
    drafts = {}
    for scored in taken:
        candidate = scored.candidate
        place = (*candidate.key, candidate.start, candidate.end)
        known = cited.get(place) or citation(len(cited) + 1, candidate)
        cited[place] = known
        drafts[known.n] = _statement(scored, known.n)
    own = {c.n for c in selection.citations}
    found = conflicts(list(drafts.values()), terms=terms)
    found = tuple(c for c in found if any(own & set(side.citations) for side in c.sides))
    return _renumbered(found, selection.citations, {c.n: c for c in cited.values()})


def _renumbered(
    found: Sequence[Conflict], first: Sequence[Citation], drafts: Mapping[int, Citation]
) -> tuple[tuple[Conflict, ...], tuple[Citation, ...]]:
    """Number the citations that only conflicts use after the claims' own, without gaps."""
    own = {c.n for c in first}
    extra = dict.fromkeys(n for c in found for side in c.sides for n in side.citations if n not in own)
    numbers = {n: n for n in own} | {n: len(first) + at for at, n in enumerate(extra, start=1)}
    renamed = tuple(
        replace(c, sides=tuple(replace(s, citations=tuple(numbers[n] for n in s.citations)) for s in c.sides))
        for c in found
    )
    return renamed, (*first, *(replace(drafts[n], n=numbers[n]) for n in extra))


def _statement(scored: Scored, n: int) -> Statement:
    candidate, document = scored.candidate, scored.candidate.hit.document
    return Statement(
        text=candidate.shown,
        context=candidate.context,
        citations=(n,),
        document=(document.source, document.external_id),
        authority=document.authority,
        revised_at=document.revised_at,
        names=f"{document.publisher or ''} {document.source_name} {document.source}",
        lang=document.lang,
        vector=scored.vector,
        cells=candidate.quote if "|" in candidate.quote else "",
    )


def _read(s: Statement) -> _Reading:
    names = stems(s.names)
    own = stems(s.text, s.lang) - names
    everything = f"{s.context} {s.text}"
    return _Reading(
        own=frozenset(w for w in own if not w[0].isdigit() and w not in _ADVICE),
        around=stems(s.context, s.lang) - names,
        quantities=tuple(q for q in quantities(s.text, s.lang) if q.unit),
        ages=ages(s.text),
        populations=populations(s.text) or populations(s.context),
        medicines=medicines(s.text) or medicines(everything),
        polarity=polarity(s.text),
        cells=frozenset(w for w in stems(s.cells, s.lang) - names if len(w) > 3 and w.isalpha()),
    )


def _disagreements(a: _Reading, b: _Reading) -> list[str]:
    """Units on which two statements contradict each other, and "advice" when one is for what the other is
    against."""
    if not _same_subject(a, b):
        return []
    units = {q.unit for q in a.quantities} & {q.unit for q in b.quantities}
    kinds = [unit for unit in sorted(units) if _contradict(a.quantities, b.quantities, unit)]
    closer = len(a.own & b.own) >= 0.6 * max(1, min(len(a.own), len(b.own)))
    if not kinds and a.polarity * b.polarity == -1 and closer and not _contrast(a, b):
        kinds.append("advice")
    return kinds


def _same_subject(a: _Reading, b: _Reading) -> bool:
    if a.ages != b.ages or a.medicines != b.medicines or _different_people(a.populations, b.populations):
        return False
    if _other_row(a, b):
        return False
    shared = len(a.own & b.own)
    with_context = len((a.own & (b.own | b.around)) | (b.own & (a.own | a.around)))
    fewer = max(1, min(len(a.own), len(b.own)))
    return shared >= 2 and with_context / fewer >= _SHARED and not _swapped(a, b)


def _other_row(a: _Reading, b: _Reading) -> bool:
    """Rows under the same column names share these, whatever they are about: what their cells name must be shared too."""
    if not (a.cells or b.cells):
        return False
    mine, theirs = a.cells or a.own, b.cells or b.own
    return 2 * len(mine & theirs) < min(len(mine), len(theirs))


def _different_people(a: frozenset[str], b: frozenset[str]) -> bool:
    return a != b and bool(a | b)


def _swapped(a: _Reading, b: _Reading) -> bool:
    """Whether each statement has a word of its own in the place of the other's ("dose of X", "dose of Y"):
    as many own words on both sides, one or two, when all others are shared."""
    mine, theirs = a.own - b.own - b.around, b.own - a.own - a.around
    return 0 < len(mine) <= 2 and 0 < len(theirs) <= 2 and bool(a.own & b.own) and len(a.own & b.own) <= 3


def _contrast(a: _Reading, b: _Reading) -> bool:
    """Opposite advice with different numbers is two rules ("do not exceed 2", "should take 1"), not a
    contradiction."""
    return bool(a.quantities) != bool(b.quantities) and not a.own <= b.own | b.around


def _contradict(a: Sequence[Quantity], b: Sequence[Quantity], unit: str) -> bool:
    left, right = [q for q in a if q.unit == unit], [q for q in b if q.unit == unit]
    return all(not compatible(x, y) for x in left for y in right)


def _joining(
    kept: Sequence[Statement], read: Sequence[_Reading], pair: tuple[int, int], kind: str
) -> list[int]:
    """Further statements that contradict one side and agree with the other, or contradict both."""
    return [
        k
        for k in range(len(kept))
        if k not in pair
        and any(
            kind in _disagreements(read[k], read[side])
            for side in pair
            if kept[k].document != kept[side].document
        )
    ]


def _conflict(
    kept: Sequence[Statement], read: Sequence[_Reading], group: Sequence[int], kind: str
) -> Conflict:
    sides: dict[object, list[int]] = {}
    for at in sorted(group):
        sides.setdefault(_position(read[at], kind), []).append(at)
    shown = tuple(
        ConflictSide(kept[members[0]].text, tuple(sorted({n for at in members for n in kept[at].citations})))
        for members in sides.values()
    )
    return Conflict(_topic(kept[min(group)], read, group, kind), shown)


def _position(reading: _Reading, kind: str) -> object:
    if kind == "advice":
        return reading.polarity
    return tuple(sorted({q.values for q in reading.quantities if q.unit == kind}))


def _topic(first: Statement, read: Sequence[_Reading], group: Sequence[int], kind: str) -> str:
    """The passage of the first side from the first to the last word that all sides share, with the unit in question: what they
    disagree about, in words that a reader finds in the source."""
    shared = frozenset.intersection(*(read[at].own | read[at].around for at in group))
    stop = STOP_WORDS.get(first.lang, STOP_WORDS["en"])
    spelled = list(re.finditer(r"[^\W\d_]+", first.text))
    common = [m for m in spelled if _is_common(m.group(), shared, stop)][:_TOPIC_WORDS]
    topic = " ".join(first.text[common[0].start() : common[-1].end()].split()) if common else ""
    if not topic or len(topic) > _TOPIC_LENGTH:
        topic = " ".join(dict.fromkeys(m.group().lower() for m in common)) or " ".join(
            content_words(first.context)[:4]
        )
    return topic if kind == "advice" else f"{topic} ({_UNIT_NAMES.get(kind, kind)})"


def _is_common(word: str, shared: Collection[str], stop: Collection[str]) -> bool:
    return word.lower() not in stop and not is_unit(word) and any(stem(x) in shared for x in words(word))


_UNIT_NAMES = {"minute": "time", "month": "months or years", "mg": "weight", "ml": "volume", "mm": "length"}


def _precedence(s: Statement) -> tuple[int, int, tuple[str, str], str]:
    return -s.authority, -(s.revised_at.toordinal() if s.revised_at else 0), s.document, s.text


def _nearness(a: Statement, b: Statement) -> float:
    if a.vector is None or b.vector is None:
        return 1.0
    scale = float(np.linalg.norm(a.vector) * np.linalg.norm(b.vector))
    return float(a.vector @ b.vector) / scale if scale > 0 else 0.0


def _usual_nearness(kept: Sequence[Statement]) -> float:
    """The median similarity of statements of different documents: relative, because levels depend on the
    embedder."""
    pairs = [
        _nearness(a, b)
        for a, b in itertools.combinations(kept, 2)
        if a.document != b.document and a.vector is not None and b.vector is not None
    ]
    return float(np.median(pairs)) if len(pairs) > 2 else 0.0
