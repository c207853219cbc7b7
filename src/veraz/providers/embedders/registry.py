"""Embedders by name, as the configuration gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from veraz.errors import ConfigError
from veraz.nouns.distance import Distance
from veraz.providers.ports import Embedder

Progress = Callable[[str, int, int], None]
Opener = Callable[[Path, Distance, Mapping[str, object], Progress | None], Embedder]
Options = TypeVar("Options", bound=msgspec.Struct)


class LocalOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`weights` is the path of the weights file, by default the one in the installed package."""

    precision: Literal["fp32", "int8"] = "fp32"
    threads: int | None = None
    weights: str | None = None


def open_embedder(
    name: str,
    *,
    cache: Path,
    options: Mapping[str, object],
    distance: Distance = "cosine",
    progress: Progress | None = None,
) -> Embedder:
    """The embedder called `name`: `local`, `openai` or `hub`.

    `distance` is how vectors of its space are compared; `cache` is the directory for model files;
    `progress(stage, done, total)` is called while one is prepared.
    Raises ConfigError for an unknown name, an unusable option or a missing extra, and ProviderError where a
    model cannot be had.
    """
    if name not in _OPENERS:
        raise ConfigError(f"no embedder is called {name!r}", fix=f"choose one of {', '.join(_OPENERS)}")
    extra, opener = _OPENERS[name]
    try:
        return opener(cache, distance, options, progress)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the embedder {name!r} needs the package {error.name}, which is not installed",
            fix=f"pip install 'veraz[{extra}]'",
        ) from error


def _local(
    cache: Path, distance: Distance, options: Mapping[str, object], progress: Progress | None
) -> Embedder:
    from veraz.providers.embedders.local import LocalE5

    chosen = _read("local", options, LocalOptions)
    weights = Path(chosen.weights).expanduser() if chosen.weights else None
    return LocalE5(
        cache,
        precision=chosen.precision,
        distance=distance,
        threads=chosen.threads,
        weights=weights,
        progress=progress,
    )


def _openai(
    _cache: Path, distance: Distance, options: Mapping[str, object], _progress: Progress | None
) -> Embedder:
    from veraz.providers.embedders.openai_compatible import OpenAICompatible, OpenAIOptions

    return OpenAICompatible(_read("openai", options, OpenAIOptions), distance=distance)


def _hub(
    cache: Path, distance: Distance, options: Mapping[str, object], _progress: Progress | None
) -> Embedder:
    from veraz.providers.embedders.hub import HubModel, HubOptions

    return HubModel(_read("hub", options, HubOptions), cache=cache, distance=distance)


_OPENERS: Mapping[str, tuple[str, Opener]] = {
    "local": ("local", _local),
    "openai": ("local", _openai),  # only its optional tokenizer needs an extra
    "hub": ("hub", _hub),
}


def _read(name: str, options: Mapping[str, object], form: type[Options]) -> Options:
    try:
        return msgspec.convert(dict(options), form)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"options of the embedder {name!r}: {error}", fix=f"it takes {', '.join(form.__struct_fields__)}"
        ) from error
