"""Spanish product information in dated versions, as records: registration and document type name a document, every export is a
revision of it that holds from its date."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Label = dict[str, Any]


def _lines(file: Path) -> Iterator[Label]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def external_id(label: Label) -> str:
    return f"{label['registration']}-{label['doc_type']}"


def labels(folder: Path) -> list[Label]:
    """One record a dated version, oldest first."""
    made = [
        {
            "id": external_id(label),
            "title": f"{label['product']}: {label['doc_type']}",
            "text": _markdown(label["sections"]),
            "format": "markdown",
            "lang": "es",
            "valid_from": label["revision_date"],
            "document_type": label["doc_type"],
            "jurisdiction": "ES",
        }
        for label in _lines(folder / "labels.jsonl.gz")
    ]
    return sorted(made, key=lambda record: (record["valid_from"], record["id"]))


def changes(folder: Path) -> list[Label]:
    """Sections that differ between two versions: registration, doc_type, section, from, to, diff (lines of + and -)."""
    return list(_lines(folder / "changed_sections.jsonl.gz"))


def _markdown(sections: list[Label]) -> str:
    return "\n\n".join(
        f"{'#' * min(len(section['path']), 6)} {section['title']}\n\n{_escaped(section['text'])}"
        for section in sections
    )


def _escaped(text: str) -> str:
    """Text that Markdown reads as it stands: no line of it is a heading or opens a code block."""
    return "\n\n".join(line.strip() for line in text.splitlines() if line.strip()).replace("#", "\\#")
