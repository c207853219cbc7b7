"""A cross-encoder in a local ONNX file: it reads question and passage together. Nothing is downloaded."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from veraz.errors import ConfigError, MalformedResponse, ProviderError
from veraz.nouns.rerank import RerankScores
from veraz.providers.embedders.onnx_engine import available_cores, open_session, plan_batches

_MODELS = ("model.onnx", "onnx/model.onnx")


class CrossEncoderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model`: a folder as sentence-transformers saves one (`tokenizer.json`, and `onnx/model.onnx` or `model.onnx`), or the
    .onnx file itself with `tokenizer.json` beside or above it. Question and passage are cut to `max_tokens` together, the longer
    one first. `threads`: None for the cores that the process may use."""

    model: str
    max_tokens: int = 512
    threads: int | None = None


class CrossEncoder:
    """Implements `Reranker`. The score is the model's logit for relevance: one output, or of two the second less the first.
    Raises ConfigError for files that are not there or not such a model."""

    def __init__(self, options: CrossEncoderOptions) -> None:
        if options.max_tokens < 8:
            raise ConfigError(f"max_tokens is {options.max_tokens}", fix="give at least 8")
        self._path = _model_file(Path(options.model).expanduser())
        self._tokenizer = _tokenizer(self._path, options.max_tokens)
        self._session = open_session(self._path, options.threads or available_cores())
        self._inputs = [given.name for given in self._session.get_inputs()]
        self._version = f"cross-encoder {_digest(self._path)} {options.max_tokens}"
        if unknown := set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}:
            raise ConfigError(
                f"{self._path} takes {', '.join(sorted(unknown))}",
                fix="export it for sequence classification",
            )

    @property
    def version(self) -> str:
        return self._version

    async def rerank(self, question: str, passages: Sequence[str]) -> RerankScores:
        """The model runs in a worker thread, so that the event loop stays free."""
        return await asyncio.to_thread(self._rerank, question, list(passages))

    async def close(self) -> None:
        pass

    def _rerank(self, question: str, passages: list[str]) -> RerankScores:
        pairs = self._tokenizer.encode_batch([(question, passage) for passage in passages])
        scores: list[float | None] = [None] * len(passages)
        for batch in plan_batches([len(pair.ids) for pair in pairs]):
            for place, score in zip(batch, self._run([pairs[i] for i in batch]), strict=True):
                scores[place] = score
        return RerankScores(tuple(scores), tuple(i for i, pair in enumerate(pairs) if pair.overflowing))

    def _run(self, pairs: Sequence[Any]) -> list[float]:
        width = max(len(pair.ids) for pair in pairs)
        given = {name: np.zeros((len(pairs), width), np.int64) for name in self._inputs}
        for row, pair in enumerate(pairs):
            told = {
                "input_ids": pair.ids,
                "attention_mask": pair.attention_mask,
                "token_type_ids": pair.type_ids,
            }
            for name in given:
                given[name][row, : len(pair.ids)] = told[name]
        try:
            output = np.asarray(self._session.run(None, given)[0], np.float64)
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise ProviderError(f"{self._path}: {error}", fix="check the model") from error
        if output.ndim == 1:
            output = output[:, None]
        if output.shape not in ((len(pairs), 1), (len(pairs), 2)):
            raise MalformedResponse(
                f"{self._path} gives {output.shape} for {len(pairs)} pairs, not one or two numbers each",
                fix="export it for sequence classification",
            )
        found = output[:, 0] if output.shape[1] == 1 else output[:, 1] - output[:, 0]
        return [float(score) for score in found]


def _model_file(path: Path) -> Path:
    if path.suffix == ".onnx" and path.is_file():
        return path
    for name in _MODELS:
        if (path / name).is_file():
            return path / name
    raise ConfigError(
        f"the reranker 'cross-encoder': no ONNX model at {path}",
        fix="give `model` a .onnx file, or a folder that holds model.onnx or onnx/model.onnx",
    )


def _tokenizer(model: Path, most: int) -> Any:
    from tokenizers import Tokenizer

    places = (model.parent / "tokenizer.json", model.parent.parent / "tokenizer.json")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise ConfigError(f"no tokenizer.json beside or above {model}", fix="put the model's own there")
    try:
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(most, strategy="longest_first")
    except Exception as error:  # the library raises bare Exception
        raise ConfigError(f"tokenizer {path}: {error}", fix="give the model's own tokenizer.json") from error
    return tokenizer


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
