"""The README's Python, as it stands there, with the real model on a database without any schema."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.db.server_fixture import test_home
from tests.project.repository import ROOT, blocks
from veraz.demo import CORPUS
from veraz.evaluation.dataset import load_dataset

pytest.importorskip("onnxruntime", reason="the local model is not installed: pip install 'veraz[local]'")


def test_the_python_example_of_the_readme_runs(empty_database: str, tmp_path: Path) -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/how-to/own-server.md", tmp_path / "docs")
    environ = {**os.environ, "VERAZ_HOME": str(test_home()), "VERAZ_DATABASE_URL": empty_database}
    command = [sys.executable, "-W", "error", "-c", example]
    _install(environ, tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 new, 0 unchanged\n1 own-server.md (")
    assert "\nanswered " in done.stdout
    assert "`pg_trgm` and `unaccent`" in done.stdout
    again = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert again.stdout.startswith("0 new, 1 unchanged\n")


def _install(environ: dict[str, str], folder: Path) -> None:
    """A server of one's own needs `veraz init` first; the embedded one gets its schema by itself."""
    code = "from veraz.cli.main import main; main()"
    subprocess.run(
        [sys.executable, "-c", code, "init"], cwd=folder, env=environ, capture_output=True, check=True
    )


def test_the_judged_example_is_about_documents_of_the_demo() -> None:
    folder = ROOT / "examples/judged"
    dataset = load_dataset(folder)
    assert len(dataset.judged) == len(dataset.queries) == 12
    assert {name for name in dataset.relevant() if not (CORPUS / name).is_file()} == set()
