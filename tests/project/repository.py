"""The files of this checkout, and what its documentation says in code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def pages() -> list[Path]:
    """Every Markdown page that a reader meets."""
    return [*(ROOT / name for name in PAGES), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in _BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def sources() -> Iterator[Path]:
    """Every text file of the project: code, SQL, tests, documentation, configuration."""
    for folder in ("src", "tests", "tools", "bench", "examples", "docs", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            hidden = any(
                part.startswith(".") or part == "__pycache__"
                for part in path.relative_to(ROOT / folder).parts
            )
            if path.is_file() and not hidden:
                yield path
    for name in (*PAGES, "Makefile", "pyproject.toml", "NOTICE"):
        yield ROOT / name
