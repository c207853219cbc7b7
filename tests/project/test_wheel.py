"""What is installed: the wheel holds every file that the code reads, and nothing that belongs to a checkout."""

from __future__ import annotations

import email
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import veraz
from tests.project.repository import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    assert Path(built).name == f"veraz-{veraz.__version__}-py3-none-any.whl"
    return zipfile.ZipFile(built)


def test_it_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    kinds = {".py", ".sql", ".toml", ".md", ".css", ".txt", ".typed"}
    wanted = {
        p.relative_to(ROOT / "src").as_posix()
        for p in (ROOT / "src/veraz").rglob("*")
        if p.is_file() and (p.suffix in kinds or p.name == "py.typed")
    }
    packed = {name for name in wheel.namelist() if name.startswith("veraz/")}
    assert packed == wanted
    assert {
        "veraz/py.typed",
        "veraz/search/sql/lexical.sql",
        "veraz/query/routes.toml",
        "veraz/demo/corpus/burns-first-aid.md",
    } <= packed


def test_its_metadata_names_licence_readme_extras_and_command(wheel: zipfile.ZipFile) -> None:
    info = f"veraz-{veraz.__version__}.dist-info"
    metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Provides-Extra", [])) >= {"local", "eval", "hub", "test"}
    assert "# Veraz" in metadata.get_payload()
    assert "veraz = veraz.cli.main:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
