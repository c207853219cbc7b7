"""Extractive answering: the sentences of the evidence that answer a question, verbatim, with their citations.

A sentence's score mixes four things, each in 0..1: how near its vector is to the question's, within this
pool; the share of the question's weighted terms that it holds (a term that only its heading or title holds
counts for less); how well its chunk was ranked; and how early it stands in the chunk. The weights are those
of `Mix`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veraz.answer.measures import names_unit
from veraz.answer.named import about
from veraz.answer.numerals import spelled
from veraz.answer.quantities import asked_numbers, covers, quantities
from veraz.answer.sentences import Candidate, RevisionKey, candidates
from veraz.answer.words import Terms, content_terms, identifiers, mentions, squash, stems
from veraz.nouns.answer import Citation, Claim
from veraz.nouns.corpus import Vectors
from veraz.nouns.evidence import Hit
from veraz.text.tables import is_row

EmbedSentences = Callable[[list[str]], Vectors]
"""Embeds passages of the question's space: float32 (texts, dimension), normalised, rows in order."""

_EMBED_AT_MOST = 48
_DUPLICATE = 0.8
_ASKS_QUANTITY = re.compile(
    r"\bhow (?:long|much|many|often|high|low|old|soon|far|hot)\b|\bwhat (?:is the )?(?:maximum|minimum"
    r"|max|dose|dosage"
    r"|temperature|threshold|level|age)\b|\b(?:at|after|for|within|from) (?:what|which|how)\b|\bmaximum\b"
    r"|\bdos(?:e|age)\b"
    r"|\bcu[aá]nt[oa]s?\b|\bcada cu[aá]nto\b|\bdosis\b|\bcombien\b|\bà partir de quel|\bquelle (?:dose"
    r"|température)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of the score. `quantity` is added to a sentence with a measure when the question asks for one,
    `number` to one whose range or value covers a number of the question, or that names its identifier.
    `context` is what a term found only in heading or title counts; `floor` is how far below the best
    sentence another may score and still be taken."""

    dense: float = 0.35
    overlap: float = 0.40
    rank: float = 0.12
    position: float = 0.05
    quantity: float = 0.08
    number: float = 0.25
    context: float = 0.8
    floor: float = 0.16
    max_sentences: int = 5
    max_documents: int = 3


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its score and the parts of it. `covers_number`: a number of the question is
    a value of it or lies in a range of it. `vector` is the sentence's embedding when it was
    embedded."""

    candidate: Candidate
    score: float
    dense: float
    overlap: float
    covers_number: bool = False
    vector: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer's claims in reading order, best document first, the citations that they use, and every
    scored sentence (best first) for conflict detection and the trace."""

    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    scored: tuple[Scored, ...]


def select(
    question: str,
    hits: Sequence[Hit],
    texts: Mapping[RevisionKey, str],
    embed_sentences: EmbedSentences,
    query_vector: npt.NDArray[np.float32],
    *,
    terms: Mapping[str, float] | None = None,
    lang: str = "",
    mix: Mix | None = None,
) -> Selection:
    """Choose the sentences that answer. `embed_sentences` is called once at most, with at most 48 texts.

    `terms` are the question's content terms with weights > 0 (usually IDF); without them every content word
    weighs 1. An asynchronous caller uses `shortlist`, embeds `[c.embedded for c in ...]` itself, and calls
    `choose`.
    """
    picked = shortlist(question, hits, texts, terms=terms, lang=lang)
    vectors = embed_sentences([c.embedded for c in picked]) if picked else np.empty((0, 0), np.float32)
    return choose(question, picked, vectors, query_vector, terms=terms, lang=lang, mix=mix)


def shortlist(
    question: str,
    hits: Sequence[Hit],
    texts: Mapping[RevisionKey, str],
    *,
    terms: Mapping[str, float] | None = None,
    lang: str = "",
) -> list[Candidate]:
    """The candidates worth embedding: of those that are about what the question names, the ones that hold most of its terms in
    the best chunks, at most 48."""
    weighted = _terms(question, terms, lang)
    pool = about(question, candidates(hits, texts, stems(question, lang)))
    if names_unit(question):
        pool = [c for c in pool if quantities(c.shown, c.hit.document.lang)]
    if len(pool) <= _EMBED_AT_MOST:
        return pool
    mix = Mix()
    order = sorted(range(len(pool)), key=lambda at: (-_cheap(pool[at], weighted, mix), at))
    return [pool[at] for at in sorted(order[:_EMBED_AT_MOST])]


def choose(
    question: str,
    picked: Sequence[Candidate],
    vectors: Vectors,
    query_vector: npt.NDArray[np.float32],
    *,
    terms: Mapping[str, float] | None = None,
    lang: str = "",
    mix: Mix | None = None,
) -> Selection:
    """Score candidates (`vectors`: one row for each) and take the answer from them."""
    mix = mix or Mix()
    scored = score(question, picked, vectors, query_vector, _terms(question, terms, lang), mix)
    groups = _take(scored, mix)
    return _cite(groups, scored)


def score(
    question: str,
    picked: Sequence[Candidate],
    vectors: Vectors,
    query_vector: npt.NDArray[np.float32],
    terms: Terms,
    mix: Mix,
) -> list[Scored]:
    """Candidates with scores, best first; ties keep the order of the candidates."""
    if not picked:
        return []
    nearness = _within_pool(np.asarray(vectors @ query_vector, dtype=np.float64))
    wants_quantity = _ASKS_QUANTITY.search(question) is not None
    asked, names = asked_numbers(question), identifiers(question)
    found = []
    for candidate, near, vector in zip(picked, nearness, vectors, strict=True):
        overlap = _overlap(candidate, terms, mix)
        known = quantities(candidate.quote, candidate.hit.document.lang)
        measured = wants_quantity and any(q.unit for q in known)
        covered = any(covers(q, number) for q in known for number in asked)
        total = mix.dense * near + mix.overlap * overlap + mix.rank * _rank_prior(candidate)
        total += mix.position / (1 + candidate.position) + mix.quantity * measured + mix.number * covered
        total += mix.number * any(mentions(name, candidate.shown) for name in names) - candidate.penalty
        found.append(Scored(candidate, float(total), float(near), overlap, covered, vector))
    return sorted((s for s in found if not _names_another(s.candidate, names)), key=lambda s: -s.score)


def _terms(question: str, terms: Mapping[str, float] | None, lang: str) -> Terms:
    return Terms(terms if terms else content_terms(question, lang))


def _cheap(candidate: Candidate, terms: Terms, mix: Mix) -> float:
    return _overlap(candidate, terms, mix) + mix.rank * _rank_prior(candidate) - candidate.penalty


def _overlap(candidate: Candidate, terms: Terms, mix: Mix) -> float:
    lang = candidate.hit.document.lang
    own = terms.found(spelled(candidate.shown, lang))
    around = terms.found(spelled(candidate.context, lang)) - own
    return terms.share(own) + mix.context * terms.share(around)


def _rank_prior(candidate: Candidate) -> float:
    return 1 / (1 + (candidate.hit.rank - 1) / 4)


def _within_pool(cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cosines as places between two standard deviations below and above the pool's mean: only differences
    count, because the level of a cosine depends on the embedder."""
    spread = float(cosines.std())
    if spread < 1e-6:
        return np.full_like(cosines, 0.5)
    placed: npt.NDArray[np.float64] = np.clip((cosines - cosines.mean()) / spread, -2, 2) / 4 + 0.5
    return placed


def _take(scored: Sequence[Scored], mix: Mix) -> list[list[Scored]]:
    """Groups of sentences that say the same; the first of a group is the claim, the others confirm it."""
    groups: list[list[Scored]] = []
    documents: list[tuple[str, str]] = []
    for one in scored:
        document = one.candidate.key[:2]
        if one.score < scored[0].score - mix.floor:
            break
        if one.overlap < scored[0].overlap / 2 or _wrong_row(one, scored):
            continue
        twin = next((group for group in groups if _same(group[0].candidate, one.candidate)), None)
        new_document = document not in documents
        if new_document and len(documents) == mix.max_documents:
            continue
        if twin is not None:
            if all(document != other.candidate.key[:2] for other in twin):
                twin.append(one)
        elif len(groups) < mix.max_sentences and not any(
            _overlapping(one, g) for group in groups for g in group
        ):
            groups.append([one])
        else:
            continue
        documents += [document] * new_document
    return groups


def _names_another(candidate: Candidate, names: Sequence[str]) -> bool:
    """Whether a sentence is about another item than the one that the question names (E-4102, not E-4021)."""
    if not names or any(mentions(name, candidate.shown) for name in names):
        return False
    others = identifiers(candidate.shown)
    return any(_prefix(other) == _prefix(name) for other in others for name in names)


def _prefix(name: str) -> str:
    return squash(name).rstrip("0123456789")


def _wrong_row(one: Scored, scored: Sequence[Scored]) -> bool:
    """Whether another row of the same table holds the number that the question asks about, and this one
    does not."""
    return (
        not one.covers_number
        and is_row(one.candidate.quote)
        and any(
            s.covers_number
            and is_row(s.candidate.quote)
            and s.candidate.hit.chunk_id == one.candidate.hit.chunk_id
            for s in scored
        )
    )


def _same(a: Candidate, b: Candidate) -> bool:
    """Near-duplicates by their words. Different numbers are never duplicates, however alike the rest is."""
    if _measures(a) != _measures(b):
        return False
    left, right = stems(a.shown), stems(b.shown)
    return bool(left | right) and len(left & right) / len(left | right) > _DUPLICATE


def _measures(candidate: Candidate) -> list[tuple[str, tuple[float, ...], str]]:
    found = quantities(candidate.shown, candidate.hit.document.lang)
    return sorted((q.unit, q.values, q.doubtful) for q in found)


def _overlapping(a: Scored, b: Scored) -> bool:
    x, y = a.candidate, b.candidate
    return x.key == y.key and x.start < y.end and y.start < x.end


def _cite(groups: Sequence[Sequence[Scored]], scored: Sequence[Scored]) -> Selection:
    """Number citations in the order of the claims: best document first, reading order inside it."""
    order = {key: at for at, key in reversed(list(enumerate(group[0].candidate.key for group in groups)))}
    reading = sorted(groups, key=lambda g: (order[g[0].candidate.key], g[0].candidate.start))
    claims: list[Claim] = []
    cited: list[Citation] = []
    for group in reading:
        first = len(cited) + 1
        cited += [citation(first + at, one.candidate) for at, one in enumerate(group)]
        support = min(1.0, max(0.0, (group[0].dense + min(1.0, group[0].overlap)) / 2))
        claims.append(Claim(group[0].candidate.shown, tuple(range(first, len(cited) + 1)), round(support, 4)))
    return Selection(tuple(claims), tuple(cited), tuple(scored))


def citation(n: int, candidate: Candidate) -> Citation:
    hit, document = candidate.hit, candidate.hit.document
    return Citation(
        n=n,
        external_id=document.external_id,
        source=document.source,
        title=document.title,
        url=document.url,
        revision=document.revision,
        revised_at=document.revised_at,
        chunk_id=hit.chunk_id,
        ord=hit.ord,
        heading_path=hit.heading_path,
        page=hit.page,
        start=candidate.start,
        end=candidate.end,
        quote=candidate.quote,
        superseded_by=document.superseded_by,
        authority=document.authority,
        lang=document.lang,
        publisher=document.publisher,
        is_current=document.is_current,
        current_revision=document.current_revision,
        current_since=document.current_since,
        valid_to=document.valid_to,
        successor=document.successor,
        holds_from=document.holds_from,
        superseded_since=document.superseded_since,
        in_force=document.in_force,
    )
