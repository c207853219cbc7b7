"""Every statement file of the program, by the name that the catalogue and the attacks know it by."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from psycopg import sql

from veraz.db.statements import COMPARISONS, embedding_table, statement
from veraz.filters.compose import UNFILTERED


def statement_files() -> list[str]:
    """`stage/name`, or `stage/part/name` for a part of a stage that has statements of its own."""
    return sorted(_below(resources.files("veraz"), ""))


def statement_of(name: str) -> Any:
    return statement(*name.rsplit("/", 1))


SLOTS = {
    "embedding": embedding_table(1),
    "dimension": sql.Literal(384),
    **COMPARISONS["cosine"].slots(),
    **UNFILTERED.slots(),
    "parts": sql.SQL("true"),
}


def filled(text: sql.SQL, **slots: sql.Composable) -> sql.Composable:
    """A statement over the first embedding space, without a filter expression unless `slots` holds what one becomes. A text
    without slots stays as it is: braces are doubled where there are slots alone."""
    wanted = {**SLOTS, **slots}
    plain = text.as_string(None)
    return text.format(**wanted) if any(f"{{{name}}}" in plain for name in wanted) else text


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
