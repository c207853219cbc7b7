"""The embedders under test, each over the smallest real thing that exercises it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_server import FakeEmbeddingServer
from tiny_hub import write_hub_folder

from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def local(model_cache: Path) -> Embedder:
    return open_embedder("local", cache=model_cache, options={"threads": 2})


@pytest.fixture(scope="session")
def local_int8(model_cache: Path) -> Embedder:
    return open_embedder("local", cache=model_cache, options={"threads": 2, "precision": "int8"})


@pytest.fixture
def server() -> Iterator[FakeEmbeddingServer]:
    with FakeEmbeddingServer() as running:
        yield running


@pytest.fixture(scope="session")
def hub_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the hub's layout with ten words and three dimensions, whose token vectors are its word table."""
    return write_hub_folder(tmp_path_factory.mktemp("hub") / "tiny-e5-test")
