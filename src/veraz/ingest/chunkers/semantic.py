"""Chunks end where the meaning of the text turns: between sentences whose embeddings lie far apart.

The breakpoints are those of Kamradt's "semantic chunking": the distances above a percentile of all of the document's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np

from veraz.errors import UsageError
from veraz.ingest.chunkers.context import ChunkContext, Embed
from veraz.ingest.chunkers.cut import Unit
from veraz.ingest.chunkers.sentences import sentence_units
from veraz.ingest.chunkers.structure import Packer, Run, in_order
from veraz.nouns.corpus import Chunk, ParsedDocument

NAME = "semantic"
_DECIMALS = 5
"""Of a distance: what lies below depends on which texts a model saw together."""


class Semantic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`percentile` of the distances between neighbours above which a chunk ends, 0 to 100: lower gives smaller chunks."""

    percentile: float = 90.0

    def __post_init__(self) -> None:
        if not 0 <= self.percentile <= 100:
            raise UsageError(
                f"chunker {NAME!r}: percentile of {self.percentile}", fix="use a percentile from 0 to 100"
            )

    @property
    def version(self) -> str:
        return f"{NAME}/1 percentile={self.percentile:g}"

    @property
    def pooled(self) -> bool:
        return False

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        if context.embed is None:
            raise UsageError(
                f"chunker {NAME!r} needs an embedding model",
                fix="open an embedder, or choose another chunker",
            )
        units = sentence_units(doc, context.lang)
        runs = self._runs(units, _distances(doc.text, units, context.embed))
        return in_order(chunk for _, chunk in Packer(doc, context).fit(runs))

    def _runs(self, units: Sequence[Unit], distances: Sequence[float | None]) -> list[Run]:
        known = [distance for distance in distances if distance is not None]
        most = float(np.percentile(known, self.percentile)) if known else 0.0
        runs: list[list[Unit]] = []
        for unit, distance in zip(units, distances, strict=True):
            if distance is None or distance > most:
                runs.append([])
            runs[-1].append(unit)
        return [Run(tuple(run)) for run in runs]


def _distances(text: str, units: Sequence[Unit], embed: Embed) -> list[float | None]:
    """1 - cosine of each unit with the one before it; None for the first of a section."""
    if not units:
        return []
    vectors = embed([unit.body(text) for unit in units]).astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found = np.round(1 - np.sum(vectors[1:] * vectors[:-1], axis=1), _DECIMALS)
    same = [unit.section == before.section for before, unit in itertools.pairwise(units)]
    return [None, *(float(far) if joined else None for far, joined in zip(found, same, strict=True))]
