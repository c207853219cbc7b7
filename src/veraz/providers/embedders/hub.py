"""Any sentence-transformers model with an ONNX export and a `tokenizer.json`: from a directory, or from the
hub."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from tokenizers import Tokenizer as HubTokenizer

from veraz.errors import ConfigError, ProviderError
from veraz.nouns.corpus import SpaceSpec
from veraz.nouns.distance import Distance
from veraz.providers.embedders.onnx_engine import OnnxEmbedder, OnnxEncoder, Pooling
from veraz.providers.modelcache import sha256_of

_MODEL_FILES = ("onnx/model.onnx", "model.onnx")
_TOKENIZER = "tokenizer.json"
_DOWNLOADED = [*_MODEL_FILES, "onnx/model.onnx_data", "*.json", "1_Pooling/*.json"]


class HubOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `path` (a directory) and `repo` (`owner/name`, downloaded once). What the model's own
    files declare (prefixes, pooling, length) can be overridden. With `normalise` false vectors keep the length that the model
    gives them, for models that were trained for inner products."""

    path: str | None = None
    repo: str | None = None
    revision: str | None = None
    space: str | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    pooling: Pooling | None = None
    normalise: bool = True
    max_tokens: int | None = None
    threads: int | None = None


class HubModel(OnnxEmbedder):
    """Vectors are normalised unless `normalise` is off; a text above `max_tokens` is cut and reported. The space's fingerprint is
    the sha256 of the model file, so another export of the same model is another space."""

    def __init__(self, options: HubOptions, *, cache: Path, distance: Distance = "cosine") -> None:
        folder = _folder(options, cache)
        declared = _Declared(folder)
        tokenizer, pad = _tokenizer(folder)
        model = _model_file(folder)
        pooling = options.pooling or declared.pooling()
        encoder = OnnxEncoder(model, pad=pad, pooling=pooling, threads=options.threads)
        super().__init__(_space(options, distance, declared, model, encoder), _Whole(tokenizer), encoder)


class HubE5(HubModel):
    """multilingual-e5-small from the hub, in the full precision of its authors."""

    def __init__(self, *, cache: Path) -> None:
        super().__init__(HubOptions(repo="intfloat/multilingual-e5-small"), cache=cache)


class _Whole:
    """A tokenizer that never cuts, as the engine wants it."""

    def __init__(self, tokenizer: HubTokenizer) -> None:
        self._tokenizer = tokenizer
        special = tokenizer.encode("a").special_tokens_mask
        self.closing = len(special) - 1 - max((i for i, flag in enumerate(special) if not flag), default=-1)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]


class _Declared:
    """What the model's own files say; a file or a key that is absent is None."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, file: str, *keys: str) -> Any:
        path = self._folder / file
        if not path.is_file():
            return None
        try:
            value = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise ProviderError(f"{path} is not JSON: {error}", fix="download the model again") from error
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def pooling(self) -> Pooling:
        return "cls" if self.get("1_Pooling/config.json", "pooling_mode_cls_token") else "mean"

    def max_tokens(self) -> int:
        """512 where nothing is declared, which is BERT's length."""
        return int(self.get("sentence_bert_config.json", "max_seq_length") or 512)

    def prefixes(self, name: str) -> tuple[str, str]:
        prompts = self.get("config_sentence_transformers.json", "prompts") or {}
        if not prompts and re.search(r"(^|[-_/])e5[-_]", name.lower()):
            return "query: ", "passage: "  # the E5 models need them and mostly do not declare them
        return prompts.get("query", ""), prompts.get("passage", prompts.get("document", ""))


def _folder(options: HubOptions, cache: Path) -> Path:
    if (options.path is None) == (options.repo is None):
        raise ConfigError("the embedder 'hub' needs exactly one of path and repo", fix="set one of them")
    if options.path is None:
        return _download(cast("str", options.repo), options.revision, cache)
    folder = Path(options.path).expanduser()
    if not folder.is_dir():
        raise ProviderError(
            f"{folder} is not a directory", fix="give the directory that holds tokenizer.json"
        )
    return folder


def _download(repo: str, revision: str | None, cache: Path) -> Path:
    """A directory with the model's files. A complete copy in the cache is used without the network."""
    from huggingface_hub import snapshot_download

    def fetch(*, offline: bool) -> Path:
        folder = snapshot_download(
            repo,
            revision=revision,
            cache_dir=cache / "hub",
            allow_patterns=_DOWNLOADED,
            local_files_only=offline,
        )
        return Path(folder)

    try:
        folder = fetch(offline=True)
        if _is_complete(folder):
            return folder
    except Exception:  # not downloaded yet; the library's exceptions share no base class
        pass
    try:
        return fetch(offline=False)
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ProviderError(
            f"cannot download {repo} from the hub: {reason}",
            fix="check the name and the network, or download it elsewhere and give its directory as path",
        ) from error


def _is_complete(folder: Path) -> bool:
    return (folder / _TOKENIZER).is_file() and any((folder / name).is_file() for name in _MODEL_FILES)


def _model_file(folder: Path) -> Path:
    for name in _MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    raise ProviderError(
        f"{folder} holds no {' or '.join(_MODEL_FILES)}",
        fix="export the model to ONNX, or choose one that has it",
    )


def _tokenizer(folder: Path) -> tuple[HubTokenizer, int]:
    """The tokenizer without cutting or padding, and the id that pads."""
    path = folder / _TOKENIZER
    if not path.is_file():
        raise ProviderError(f"{folder} holds no tokenizer.json", fix="save the model's fast tokenizer there")
    try:
        tokenizer = HubTokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ProviderError(f"{path}: {error}", fix="download the model again") from error
    declared = _Declared(folder).get("config.json", "pad_token_id")
    pad = (tokenizer.padding or {}).get("pad_id", declared or 0)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, pad


def _space(
    options: HubOptions, distance: Distance, declared: _Declared, model: Path, encoder: OnnxEncoder
) -> SpaceSpec:
    name = options.repo or Path(cast("str", options.path)).expanduser().resolve().name
    query, passage = declared.prefixes(name)
    dimension = encoder.dimension
    if not isinstance(dimension, int):
        dimension = declared.get("config.json", "hidden_size")
    if not isinstance(dimension, int):
        raise ProviderError(
            f"{model} declares no dimension", fix="add config.json with hidden_size beside it"
        )
    return SpaceSpec(
        name=options.space or re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        provider="hub",
        model=name,
        dimension=dimension,
        normalised=options.normalise,
        query_prefix=query if options.query_prefix is None else options.query_prefix,
        passage_prefix=passage if options.passage_prefix is None else options.passage_prefix,
        distance=distance,
        max_tokens=options.max_tokens or declared.max_tokens(),
        fingerprint=sha256_of(model),
    )
