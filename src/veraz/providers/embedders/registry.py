"""Embedders by name, as `veraz.toml` and `--embedder` give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from veraz.errors import ConfigError
from veraz.providers.ports import Embedder

Progress = Callable[[str, int, int], None]


def _local(cache: Path, options: Mapping[str, Any], progress: Progress | None) -> Embedder:
    from veraz.providers.embedders.local import LocalE5

    return LocalE5(cache, progress=progress, **options)


_OPENERS: Mapping[str, Callable[[Path, Mapping[str, Any], Progress | None], Embedder]] = {"local": _local}


def open_embedder(
    name: str, *, cache: Path, options: Mapping[str, object], progress: Progress | None = None
) -> Embedder:
    """The embedder called `name`. `cache` is the directory for model files; `progress(stage, done, total)`
    is called while one is prepared. Raises ConfigError for an unknown name, an unusable option or a missing
    extra."""
    opener = _OPENERS.get(name)
    if opener is None:
        raise ConfigError(f"no embedder {name!r}", fix=f"choose one of: {', '.join(sorted(_OPENERS))}")
    try:
        return opener(cache, options, progress)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the embedder {name!r} needs {error.name}", fix="pip install 'veraz[local]'"
        ) from error
