"""What lexical scores are worth across languages. Pure.

A question meets chunks of another language in names, figures and words that both languages write alike, and in words that are
alike by chance. BM25 cannot tell: the few words that it finds are rare there, and the rest of the question counts nothing. So the
score is measured with what a chunk would have that held all of the question: one word of ten speaks of a tenth of the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from veraz.nouns.evidence import Candidate


@dataclass(frozen=True, slots=True)
class Whole:
    """BM25 of a chunk that holds each word of the question once: `there`, in the candidate's language, and in the question's
    `own`, None where no chunk is in it. Above 0 where a word of the question was found."""

    there: float
    own: float | None


def weighed(candidates: Sequence[Candidate], whole: Mapping[UUID, Whole]) -> list[Candidate]:
    """The candidates, best first; those of `whole`, which are in another language than the question, with the `share` of it
    that they hold, at most 1. Their score becomes that share of what the whole question is worth in its own language, since
    scores under two analysers cannot be compared (a word is the rarer the more chunks a language has), times the share, since
    what is shared says little where it is little."""
    found = [_weighed(one, whole[one.chunk_id]) if one.chunk_id in whole else one for one in candidates]
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _weighed(one: Candidate, whole: Whole) -> Candidate:
    held = max(0.0, one.score / whole.there) if whole.there > 0 else 0.0
    share = min(1.0, held)
    worth = whole.there if whole.own is None else whole.own
    return replace(one, score=held * share * worth, share=share)
