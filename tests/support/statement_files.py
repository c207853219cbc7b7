"""Every statement file of the program, by the name that the catalogue and the attacks know it by."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from veraz.db.statements import statement


def statement_files() -> list[str]:
    """`stage/name`, or `stage/part/name` for a part of a stage that has statements of its own."""
    return sorted(_below(resources.files("veraz"), ""))


def statement_of(name: str) -> Any:
    return statement(*name.rsplit("/", 1))


def _below(folder: Traversable, path: str) -> list[str]:
    found: list[str] = []
    for entry in folder.iterdir():
        if not entry.is_dir():
            continue
        if entry.name == "sql":
            found += [path + f.name.removesuffix(".sql") for f in entry.iterdir() if f.name.endswith(".sql")]
        else:
            found += _below(entry, f"{path}{entry.name}/")
    return found
