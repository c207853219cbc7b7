"""The libraries below an embedder report nothing to their makers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EMBED = """
import asyncio, sys
from pathlib import Path
from veraz.providers.embedders.registry import open_embedder
embedder = open_embedder("hub", cache=Path(sys.argv[1]), options={"path": sys.argv[2]})
assert asyncio.run(embedder.embed(["red fox"], "query")).vectors.shape[0] == 1
"""


def left_behind(tmp_path: Path, hub_folder: Path, **variables: str) -> list[str]:
    """Files in the home folder of a process that embedded a text and ended."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ORT_", "XDG_", "VERAZ_"))}
    subprocess.run(
        [sys.executable, "-c", EMBED, str(tmp_path / "cache"), str(hub_folder)],
        env={**kept, "HOME": str(home), **variables},
        check=True,
        timeout=120,
    )
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]


def test_embedding_leaves_no_events_to_be_sent(tmp_path: Path, hub_folder: Path) -> None:
    assert left_behind(tmp_path, hub_folder) == []


def test_who_wants_it_can_have_it(tmp_path: Path, hub_folder: Path) -> None:
    """Shows as well that the test above would notice."""
    found = left_behind(tmp_path, hub_folder, ORT_DISABLE_TELEMETRY="0")
    if not found:
        pytest.skip("this build of onnxruntime reports nothing")
    assert any("onnxruntime" in name for name in found)
