"""More chunks than there are: sentences of real ones put together anew. Pure, and the same for the same seed.

A chunk is made of a real one and two of those whose vectors are nearest to it, sentence by sentence, until it is as long as the
real one was. Its vector is the mean of theirs by the words that each gave, with signed noise, at length 1. So words keep their
frequencies and their company, and vectors their clusters. Nobody embedded them: they are synthetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scaling.real import Chunk, Matrix, Real
from veraz.text.sentences import sentence_spans

NEIGHBOURS = 100
"""Of these a chunk's other two are drawn: 4,950 pairs for each real chunk: of 30,000 chunks made of 3,000, 880 said what another
did."""
NOISE = 0.25
"""Length of the noise before the vector is normalised. Of MedQuAD the nearest other chunk lies 0.31 away in the median, the 100th
0.46; a chunk that was made lies 0.32 from the nearest real one, 0.41 from the nearest that was made."""
CHUNKS_A_DOCUMENT = 5
MOST_SENTENCES = 40
BATCH = 2000

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    chunks: Sequence[Chunk]
    vectors: Matrix


def neighbours(real: Real, count: int = NEIGHBOURS) -> Indices:
    """(chunks, count): for each the nearest others under the same analyser, in no order. A chunk with fewer has some twice."""
    analysers = np.array([chunk.analyser for chunk in real.chunks])
    found = np.empty((len(analysers), count), np.int64)
    for analyser in np.unique(analysers):
        own = np.flatnonzero(analysers == analyser)
        near = min(count, max(1, len(own) - 1))
        for start in range(0, len(own), BATCH):
            rows = own[start : start + BATCH]
            likeness = real.vectors[rows] @ real.vectors[own].T
            likeness[np.arange(len(rows)), np.arange(start, start + len(rows))] = -2  # not itself
            nearest = np.argpartition(-likeness, near - 1, axis=1)[:, :near]
            found[rows] = own[np.resize(nearest.T, (count, len(rows))).T]
    return found


def sentences(chunk: Chunk) -> list[str]:
    return [chunk.text[span.start : span.end] for span in sentence_spans(chunk.text, chunk.lang)]


def recombined(real: Real, count: int, *, seed: int = 1) -> Iterator[Batch]:
    """`count` chunks, in documents of five whose numbers go on after the real ones."""
    chance = np.random.default_rng(seed)
    near, parts = neighbours(real), [sentences(chunk) for chunk in real.chunks]
    first = 1 + max(chunk.document for chunk in real.chunks)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        anchors = chance.integers(len(real.chunks), size=size)
        others = near[anchors[:, None], chance.integers(near.shape[1], size=(size, 2))]
        parents = np.concatenate([anchors[:, None], others], axis=1)
        drawn = chance.random((size, MOST_SENTENCES, 2))
        made, shares = [], np.zeros((size, 3), np.float32)
        for row in range(size):
            text, shares[row] = _text(parts, parents[row], drawn[row])
            chunk = real.chunks[anchors[row]]
            number = start + row
            document, place = first + number // CHUNKS_A_DOCUMENT, number % CHUNKS_A_DOCUMENT
            made.append(replace(chunk, document=document, ord=place, text=text))
        yield Batch(made, mixed(real.vectors[parents], shares, chance))


def _text(parts: Sequence[Sequence[str]], parents: Indices, drawn: Matrix) -> tuple[str, list[int]]:
    """Sentences of the parents in turn by chance, as many words as the first of them has, and the words that each gave."""
    wanted = sum(len(sentence.split()) for sentence in parts[parents[0]])
    chosen, words = list[str](), [0, 0, 0]
    for which, place in drawn:
        parent = int(which * 3)
        own = parts[parents[parent]]
        sentence = own[int(place * len(own))]
        if sentence in chosen:
            continue
        chosen.append(sentence)
        words[parent] += len(sentence.split())
        if sum(words) >= wanted:
            break
    return " ".join(chosen), words


def mixed(vectors: npt.NDArray[np.float32], shares: Matrix, chance: np.random.Generator) -> Matrix:
    """(n, 3, dimension) by (n, 3): means by share with noise, of length 1."""
    weights = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)
    mean = np.einsum("np,npd->nd", weights, vectors)
    noise = chance.standard_normal(mean.shape, np.float32)
    found = mean + NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    unit: Matrix = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit
