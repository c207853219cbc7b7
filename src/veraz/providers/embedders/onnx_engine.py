"""Runs an ONNX text encoder: counting, cutting, batching by length, and the checks on what comes out.

Shared by every embedder whose model is a local ONNX file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime

from veraz.errors import ProviderError, UsageError
from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, Span, TextKind, TokenBatch, Vectors
from veraz.providers.embedders.checks import refuse_blanks, refuse_degenerate
from veraz.providers.embedders.span_pooling import Pool, segments, windows

Pooling = Literal["mean", "cls"]

TOKEN_BUDGET = 1024
"""Padded tokens in one run of the model. Measured on two cores: 512 to 1024 is best, 2048 a fifth slower and
4096 a third, because the activations fall out of the processor's caches."""


class Tokenizer(Protocol):
    @property
    def closing(self) -> int:
        """How many special tokens end every text; a cut keeps them."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, special tokens included, never cut."""
        ...


def available_cores() -> int:
    """Cores that this process may use, which a container often limits."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def plan_batches(lengths: Sequence[int], budget: int = TOKEN_BUDGET) -> list[list[int]]:
    """Positions grouped so that neighbours in length share a batch, the longest first.

    Every position appears once, and a batch's longest length times its size stays within `budget` unless it
    holds a single text.
    """
    batches: list[list[int]] = []
    room = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if room == 0:
            batches.append([])
            room = max(1, budget // max(1, lengths[position]))
        batches[-1].append(position)
        room -= 1
    return batches


class OnnxEncoder:
    """One inference session. `run` may be called from several threads.

    The model takes `input_ids` and `attention_mask` (and `token_type_ids` if it declares them). It gives
    either sentence vectors (texts, dimension), or token vectors (texts, tokens, dimension), which are
    pooled here.
    """

    def __init__(
        self, model: Path, *, pad: int, pooling: Pooling = "mean", threads: int | None = None
    ) -> None:
        self._model = model
        self._threads = threads or available_cores()
        self._session = open_session(model, self._threads)
        self._pad = pad
        self._pooling = pooling
        self._inputs = [given.name for given in self._session.get_inputs()]
        outputs = {output.name: output for output in self._session.get_outputs()}
        self._output: str = "sentence_embedding" if "sentence_embedding" in outputs else next(iter(outputs))
        self.dimension: int | str | None = outputs[self._output].shape[-1]
        self._token_output = self._token_vectors(outputs) if pooling == "mean" else None

    @property
    def gives_tokens(self) -> bool:
        """Whether there are token vectors whose mean is the sentence's."""
        return self._token_output is not None

    def _token_vectors(self, outputs: Mapping[str, Any]) -> str | None:
        for name in ("token_embeddings", self._output):
            if (
                name in outputs
                and len(outputs[name].shape) == 3
                and outputs[name].shape[-1] == self.dimension
            ):
                return name
        return None

    def run_all(self, batches: Sequence[Sequence[Sequence[int]]], *, tokens: bool = False) -> list[Vectors]:
        """`run`, or with `tokens` `run_tokens`, for each batch, several at a time when there are many.

        Many batches go to single-threaded runs side by side: threads that work on one batch wait for each other at every layer,
        and when a database takes one of their cores the others stand still with it. Measured on two cores beside a busy server:
        30 to 50 % faster than one batch on both; alone about equal.
        """
        if self._threads == 1 or len(batches) < 2 * self._threads:
            run = self.run_tokens if tokens else self.run
            return [run(rows) for rows in batches]
        alone = self._alone.run_tokens if tokens else self._alone.run
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as workers:
            return list(workers.map(alone, batches))

    @cached_property
    def _alone(self) -> OnnxEncoder:
        """The same model in a session of one thread."""
        return OnnxEncoder(self._model, pad=self._pad, pooling=self._pooling, threads=1)

    def run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Embeddings of token id rows, float32 (rows, dimension), of whatever length the model gives."""
        output, mask = self._outputs(rows, self._output)
        return _pooled(output, mask, self._pooling)

    def run_tokens(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """The vectors of every token, float32 (rows, longest row, dimension), not scaled."""
        if self._token_output is None:
            raise UsageError(
                f"{self._model} gives no token vectors whose mean is a text's vector",
                fix="choose another chunker than 'late' and another reranker than 'maxsim', or another model",
            )
        output, _ = self._outputs(rows, self._token_output)
        return np.asarray(output, np.float32)

    def _outputs(
        self, rows: Sequence[Sequence[int]], output: str
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """An output for rows padded to the longest, and the mask of what is no padding."""
        width = max(map(len, rows))
        ids = np.full((len(rows), width), self._pad, np.int64)
        mask = np.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (found,) = self._session.run([output], {name: given[name] for name in self._inputs})
        return found, mask


def open_session(model: Path, threads: int) -> Any:
    if os.environ.get("ORT_DISABLE_TELEMETRY") == "1":
        onnxruntime.disable_telemetry_events()  # the variable came too late if others imported it before
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle threads sleep: measured 3 % slower on a quiet machine and 35 % faster beside a busy database.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base class
        fix = "delete the file so that it is made or downloaded again"
        raise ProviderError(f"onnxruntime cannot load {model}: {error}", fix=fix) from error


def _pooled(output: npt.NDArray[Any], mask: npt.NDArray[np.int64], pooling: Pooling) -> Vectors:
    tokens: Vectors = output.astype(np.float32, copy=False)
    if tokens.ndim == 2:
        return tokens
    if pooling == "cls":
        return np.ascontiguousarray(tokens[:, 0], np.float32)
    weights = mask.astype(np.float32) / mask.sum(axis=1, keepdims=True)
    pooled: Vectors = np.einsum("bs,bsh->bh", weights, tokens).astype(np.float32)
    return pooled


def _unit(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1; zero rows stay zero, for the caller to refuse."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


class OnnxEmbedder:
    """An Embedder over a tokenizer and an ONNX encoder. Equal texts in one call are computed once."""

    def __init__(self, space: SpaceSpec, tokenizer: Tokenizer, encoder: OnnxEncoder) -> None:
        self._space = space
        self._tokenizer = tokenizer
        self._encoder = encoder

    @property
    def space(self) -> SpaceSpec:
        return self._space

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        prefix = self._space.passage_prefix
        return [len(row) for row in self._tokenizer.encode([prefix + text for text in texts])]

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        """The model runs in a worker thread, so that the event loop stays free."""
        refuse_blanks(texts)
        return await asyncio.to_thread(self._embed, list(texts), kind)

    def _embed(self, texts: list[str], kind: TextKind) -> EmbeddingBatch:
        prefix = self._space.query_prefix if kind == "query" else self._space.passage_prefix
        unique = list(dict.fromkeys(texts))
        rows = self._tokenizer.encode([prefix + text for text in unique])
        place = {text: i for i, text in enumerate(unique)}
        places = [place[text] for text in texts]
        vectors = self._vectors([self._cut(row) for row in rows])[places]
        refuse_degenerate(vectors)
        cut = tuple(i for i, p in enumerate(places) if len(rows[p]) > self._space.max_tokens)
        return EmbeddingBatch(vectors, cut)

    @property
    def gives_tokens(self) -> bool:
        return self._encoder.gives_tokens

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:
        refuse_blanks(texts)
        return await asyncio.to_thread(self._encode_tokens, list(texts), kind)

    def _encode_tokens(self, texts: list[str], kind: TextKind) -> TokenBatch:
        prefix = self._space.query_prefix if kind == "query" else self._space.passage_prefix
        framed, *rows = self._tokenizer.encode([prefix, *(prefix + text for text in texts)])
        closing = self._tokenizer.closing
        cut = [self._cut(row) for row in rows]
        found: list[Vectors] = [np.empty((0, self._space.dimension), np.float32)] * len(rows)
        batches = plan_batches([len(row) for row in cut])
        outputs = self._encoder.run_all([[cut[i] for i in batch] for batch in batches], tokens=True)
        for batch, output in zip(batches, outputs, strict=True):
            for place, vectors in zip(batch, output, strict=True):
                found[place] = vectors[len(framed) - closing : len(cut[place]) - closing].copy()
        limit = self._space.max_tokens
        return TokenBatch(tuple(found), tuple(i for i, row in enumerate(rows) if len(row) > limit))

    async def embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        refuse_blanks([text])
        return await asyncio.to_thread(self._embed_spans, text, groups)

    def _embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        edges = segments(text, groups)
        prefix, closing = self._space.passage_prefix, self._tokenizer.closing
        parts = [text[start:end] for start, end in pairwise(edges)]
        bare, framed, *rows = self._tokenizer.encode(["", prefix, prefix + parts[0], *parts[1:]])
        opening, special = len(framed) - closing, len(bare) - closing
        begin, end = framed[:opening], framed[opening:]
        leads = [opening, *(special for _ in rows[1:])]
        ids = [row[lead : len(row) - closing] for lead, row in zip(leads, rows, strict=True)]
        pool = Pool([len(row) for row in ids], self._space.dimension)
        self._fill(pool, begin, [token for row in ids for token in row], end)
        vectors = self._scaled(pool.means(edges, groups))
        refuse_degenerate(vectors)
        return vectors

    def _fill(self, pool: Pool, opening: list[int], ids: list[int], closing: list[int]) -> None:
        """Runs the model over windows of `ids`, each between the opening and closing tokens."""
        lead = len(opening)
        size = max(1, self._space.max_tokens - lead - len(closing))
        for window in windows(len(ids), size):
            row = [*opening, *ids[window.start : window.end], *closing]
            (vectors,) = self._encoder.run_tokens([row])
            kept = lead - window.start
            pool.add(window.first, vectors[kept + window.first : kept + window.last])
            if window.first == 0:
                pool.add_opening(vectors[:lead])
            if window.last == len(ids):
                pool.add_closing(vectors[len(row) - len(closing) :])

    def _cut(self, row: list[int]) -> list[int]:
        """At most max_tokens ids, the closing specials kept."""
        limit, closing = self._space.max_tokens, self._tokenizer.closing
        return row if len(row) <= limit else row[: limit - closing] + row[len(row) - closing :]

    def _vectors(self, rows: list[list[int]]) -> Vectors:
        vectors = np.empty((len(rows), self._space.dimension), np.float32)
        batches = plan_batches([len(row) for row in rows])
        found = self._encoder.run_all([[rows[i] for i in batch] for batch in batches])
        for batch, embedded in zip(batches, found, strict=True):
            vectors[batch] = embedded
        return self._scaled(vectors)

    def _scaled(self, vectors: Vectors) -> Vectors:
        return _unit(vectors) if self._space.normalised else vectors
