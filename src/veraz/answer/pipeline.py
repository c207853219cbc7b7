"""Answering from evidence: is it sufficient, which sentences answer, do they disagree, does every claim
hold. Orchestration only."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from veraz.answer import conflict, render, select, sufficiency, validate
from veraz.answer.numerals import spelled
from veraz.answer.sentences import Candidate, RevisionKey
from veraz.config import AnswerConfig
from veraz.errors import MalformedResponse
from veraz.nouns.answer import Citation, Claim, Conflict, ConflictSide, Dropped
from veraz.nouns.corpus import Vectors
from veraz.nouns.evidence import Hit, Outcome
from veraz.providers.ports import Embedder

CERTAIN_MARGIN = 0.15
"""Below threshold + this, an answer says that it is uncertain."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was retrieved for a question, in which embedding space (none: words alone). `words` are its content words with their
    idf; `lexical_top` and `semantic_top` are chunk ids as each arm ranked them; `dense_pool` the semantic arm's scores; `texts`
    the stored text of every hit's revision, `pages` where its pages begin, `recognised` those that come from OCR."""

    question: str
    lang: str
    space: str
    hits: tuple[Hit, ...]
    texts: Mapping[RevisionKey, str]
    pages: Mapping[RevisionKey, tuple[int, ...]]
    recognised: Mapping[RevisionKey, frozenset[int]]
    words: Mapping[str, float]
    vector: Vectors | None
    dense_pool: tuple[float, ...]
    lexical_top: tuple[UUID, ...]
    semantic_top: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before it has a trace: what the sentences, the rules and the checks made of the evidence."""

    outcome: Outcome
    text: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    conflicts: tuple[Conflict, ...]
    dropped: tuple[Dropped, ...]
    reason: str | None
    uncertain: bool
    sufficiency: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether the evidence can answer: a calibrated probability, what it was computed from, and a rule's
    objection."""

    probability: float
    signals: Mapping[str, float]
    lacking: sufficiency.Shortfall | None
    picked: tuple[Candidate, ...]


def assess(evidence: Evidence) -> Assessment:
    """Needs no model: words, arms' scores and agreement."""
    question = _asked(evidence)
    picked = select.shortlist(
        question, evidence.hits, evidence.texts, terms=evidence.words, lang=evidence.lang
    )
    signals = _signals(evidence, picked)
    measured = {name: round(getattr(signals, name), 4) for name in sufficiency.NAMES}
    lacking = sufficiency.shortfall(
        question,
        evidence.words,
        _chunks(evidence),
        _sentences(picked),
        same_language=_same_language(evidence),
    )
    return Assessment(
        sufficiency.probability(signals, sufficiency.load_for(evidence.space)),
        measured,
        lacking,
        tuple(picked),
    )


async def compose(evidence: Evidence, embedder: Embedder, config: AnswerConfig, threshold: float) -> Draft:
    """Answers, shows a conflict, or refuses with a reason; a refusal is a value."""
    found = assess(evidence)
    picked, probability, measured = found.picked, found.probability, found.signals
    refused = bool(found.lacking) or probability < threshold or not picked
    if refused:
        return _refusal(render.reason_text(found.lacking, evidence.lang), probability, measured)
    vector = await _question_vector(evidence, embedder)
    picked, vectors = ((), None) if vector is None else await _sentence_vectors(picked, embedder)
    if vector is None or vectors is None:
        reason = render.reason_text(None, evidence.lang, otherwise="unread")
        return _refusal(reason, probability, measured)
    if not embedder.space.normalised:  # sentences are near by their direction, whatever orders the space
        vectors, vector = _unit(vectors), _unit(vector)
    mix = replace(select.Mix(), max_sentences=config.sentences, max_documents=config.documents)
    chosen = select.choose(
        _asked(evidence), picked, vectors, vector, terms=evidence.words, lang=evidence.lang, mix=mix
    )
    checked = validate.validate(chosen.claims, chosen.citations, evidence.texts)
    if checked.refused:
        reason = render.reason_text(None, evidence.lang, otherwise="dropped")
        return _refusal(reason, probability, measured, checked.dropped)
    disputes, citations = conflict.disagreements(chosen, terms=evidence.words)
    disputes, unfounded = validate.validate_conflicts(disputes, citations, evidence.texts)
    dropped = tuple(dict.fromkeys((*checked.dropped, *unfounded)))
    claims, citations, disputes = _renumber(checked.claims, citations, disputes)
    citations = tuple(_on_its_pages(citation, evidence) for citation in citations)
    text = _text(claims, citations, disputes, evidence.lang)
    return Draft(
        outcome="conflicting" if disputes else "answered",
        text=text,
        claims=claims,
        citations=citations,
        conflicts=disputes,
        dropped=dropped,
        reason=None,
        uncertain=probability < threshold + CERTAIN_MARGIN,
        sufficiency=probability,
        signals=measured,
    )


def _on_its_pages(citation: Citation, evidence: Evidence) -> Citation:
    """A chunk may go over several pages: a quotation stands on the one where it begins, and was recognised if any of its was."""
    key = (citation.source, citation.external_id, citation.revision)
    starts = evidence.pages.get(key, ())
    first, last = (
        bisect_right(starts, citation.start),
        bisect_right(starts, max(citation.start, citation.end - 1)),
    )
    recognised = not evidence.recognised.get(key, frozenset()).isdisjoint(range(first, last + 1))
    return replace(citation, page=first or None, recognised=recognised)


async def _question_vector(evidence: Evidence, embedder: Embedder) -> Vectors | None:
    """A lexical search embeds no question, and sentences are chosen by their nearness to it. None where the model gives it
    no direction."""
    if evidence.vector is not None:
        return evidence.vector
    try:
        vector: Vectors = (await embedder.embed([evidence.question], "query")).vectors[0]
    except MalformedResponse:
        return None
    return vector if np.isfinite(vector).all() and vector.any() else None


async def _sentence_vectors(
    picked: Sequence[Candidate], embedder: Embedder
) -> tuple[tuple[Candidate, ...], Vectors | None]:
    """The sentences that the model takes, and their vectors, (sentences, dimension); None where it takes none. One that it does
    not take costs itself alone."""
    try:
        return tuple(picked), (await embedder.embed([c.embedded for c in picked], "passage")).vectors
    except MalformedResponse:
        pass
    taken, vectors = [], []
    for candidate in picked:
        with suppress(MalformedResponse):
            vectors.append((await embedder.embed([candidate.embedded], "passage")).vectors[0])
            taken.append(candidate)
    return tuple(taken), np.stack(vectors) if vectors else None


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def _refusal(
    reason: str, probability: float, measured: Mapping[str, float], dropped: tuple[Dropped, ...] = ()
) -> Draft:
    return Draft("insufficient", "", (), (), (), dropped, reason, False, probability, measured)


def _asked(evidence: Evidence) -> str:
    """The question with its numerals spelled as they are in `_chunks`."""
    return spelled(evidence.question, evidence.lang)


def _chunks(evidence: Evidence) -> list[str]:
    """The evidence with what its headings say, as the reader of a chunk would know it, numerals in one spelling."""
    return [
        spelled("\n".join((h.document.title, *h.heading_path, h.body)), h.document.lang)
        for h in evidence.hits
    ]


def _sentences(picked: Sequence[Candidate]) -> list[str]:
    return [spelled(f"{c.context} {c.shown}", c.hit.document.lang) for c in picked]


def _signals(evidence: Evidence, picked: Sequence[Candidate]) -> sufficiency.Signals:
    return sufficiency.signals(
        _asked(evidence),
        evidence.words,
        _chunks(evidence),
        _sentences(picked),
        dense_pool=evidence.dense_pool,
        lexical_top=evidence.lexical_top[:10],
        semantic_top=evidence.semantic_top[:10],
    )


def _same_language(evidence: Evidence) -> bool:
    return any(h.document.lang == evidence.lang for h in evidence.hits)


def _text(
    claims: Sequence[Claim], citations: Sequence[Citation], disputes: Sequence[Conflict], lang: str
) -> str:
    """Disputes first; then the claims that no side of a dispute has already said."""
    said = {side.text for d in disputes for side in d.sides}
    parts = [
        render.conflict_text(disputes, citations, lang),
        render.answer_text([c for c in claims if c.text not in said]),
    ]
    return "\n\n".join(part for part in parts if part)


def _renumber(
    claims: Sequence[Claim], citations: Sequence[Citation], disputes: Sequence[Conflict]
) -> tuple[tuple[Claim, ...], tuple[Citation, ...], tuple[Conflict, ...]]:
    """Citations in the order in which a reader meets them, 1, 2, 3; unused ones go."""
    used = [n for d in disputes for side in d.sides for n in side.citations] + [
        n for c in claims for n in c.citations
    ]
    number = {old: new for new, old in enumerate(dict.fromkeys(used), start=1)}
    known = {c.n: c for c in citations}
    return (
        tuple(replace(c, citations=tuple(number[n] for n in c.citations)) for c in claims),
        tuple(replace(known[old], n=new) for old, new in number.items()),
        tuple(
            Conflict(
                d.topic, tuple(ConflictSide(s.text, tuple(number[n] for n in s.citations)) for s in d.sides)
            )
            for d in disputes
        ),
    )
