"""What a reranker says of passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

RerankerName = Literal["none", "maxsim", "cross-encoder", "cohere", "voyage", "jina", "llm"]
"""What `--rerank` and `[search] rerank` take; "none" keeps the fused order."""
RERANKERS: tuple[RerankerName, ...] = get_args(RerankerName)


@dataclass(frozen=True, slots=True)
class RerankScores:
    """`scores`: one for each passage, in the order in which they were given, higher for better and finite; None: not scored.
    `truncated`: positions of passages that were longer than the model reads, as far as the adapter can tell."""

    scores: tuple[float | None, ...]
    truncated: tuple[int, ...] = ()
