"""What `import veraz` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import get_type_hints

import pytest

import veraz

SURFACE = {
    "Answer", "AsyncVeraz", "Citation", "Claim", "Config", "Filters", "Hit", "IngestReport", "SearchResult", "Veraz",
    "VerazError", "__version__",
}  # fmt: skip


def test_the_surface_is_these_names() -> None:
    assert set(veraz.__all__) == SURFACE
    assert set(dir(veraz)) == SURFACE


@pytest.mark.parametrize("name", sorted(SURFACE - {"__version__"}))
def test_every_name_is_the_documented_object_of_its_module(name: str) -> None:
    found = getattr(veraz, name)
    assert found is getattr(import_module(found.__module__), name)
    assert (found.__doc__ or "").strip()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'veraz' has no attribute 'Nonsense'"):
        _ = veraz.Nonsense


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"click", "httpx", "msgspec", "numpy", "psycopg", "rich"}
    code = "import sys, veraz; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.split(".")[0] for name in done.stdout.split()} & heavy == set()


def test_annotations_of_the_blocking_class_can_be_read_at_run_time() -> None:
    hints = get_type_hints(veraz.Veraz.search)
    assert hints["return"] is veraz.SearchResult
    assert hints["filters"] == veraz.Filters | None
