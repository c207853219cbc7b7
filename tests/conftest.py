"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real corpora, judgements and cases: $VERAZ_SHARED, or `shared` beside the checkout."""
    folder = Path(os.environ.get("VERAZ_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    if not (folder / "data").is_dir():
        pytest.skip(f"real corpora are not at {folder} (set VERAZ_SHARED)")
    return folder
