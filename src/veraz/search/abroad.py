"""What lexical scores are worth across languages. Pure.

A question meets chunks of another language in names, figures and words that both languages write alike, and in words that are
alike by chance. BM25 cannot tell: the few words that it finds are rare there, and the rest of the question counts nothing. So the
score is measured with what a chunk would have that held all of the question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from veraz.nouns.evidence import Candidate


@dataclass(frozen=True, slots=True)
class Whole:
    """`score`: BM25 of a chunk in the candidate's language that holds each word of the question once; above 0. `rarest`: what a
    word weighs that no chunk there holds, `own_rarest` one that none in the question's language holds; None where no chunk is in
    that."""

    score: float
    rarest: float
    own_rarest: float | None


def weighed(candidates: Sequence[Candidate], whole: Mapping[UUID, Whole]) -> list[Candidate]:
    """The candidates, best first. The score of those of `whole`, which are in another language than the question, is brought to
    the scale of its own, where a word that nothing holds would weigh as much: a word is the rarer the more chunks a language has.
    Where all are in another language, each counts in fusion by its `share`, the root of how much of the question it holds, at
    most 1: nothing else tells a best score that says little from one that says much. A candidate in the question's own language
    tells it: it stands above what was found by chance."""
    alone = all(one.chunk_id in whole for one in candidates)
    found = [
        _weighed(one, whole[one.chunk_id], alone) if one.chunk_id in whole else one for one in candidates
    ]
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _weighed(one: Candidate, whole: Whole, alone: bool) -> Candidate:
    scale = 1.0 if whole.own_rarest is None else whole.own_rarest / whole.rarest
    held = one.score / whole.score if whole.score > 0 else 0.0
    share = math.sqrt(min(1.0, max(0.0, held))) if alone else 1.0
    return replace(one, score=one.score * scale, share=share)
