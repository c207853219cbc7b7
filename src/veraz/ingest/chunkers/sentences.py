"""The sentences of a document as units: for chunkers that begin with the smallest parts."""

from __future__ import annotations

from collections.abc import Iterator

from veraz.ingest.chunkers.cut import Unit, cut_unit, whole_blocks
from veraz.nouns.corpus import ParsedDocument


def sentence_units(doc: ParsedDocument, lang: str) -> list[Unit]:
    """Sentences, list items, and whole tables and code blocks, in reading order. What holds signs only goes with the unit before
    it."""
    units: list[Unit] = []
    for unit in (part for block in whole_blocks(doc) for part in _parts(doc.text, block, lang)):
        last = units[-1] if units else None
        silent = not any(map(str.isalnum, doc.text[unit.start : unit.end]))
        if silent and last and last.section == unit.section and last.kind == unit.kind != "table":
            last.end = unit.end
        else:
            units.append(unit)
    return units


def _parts(text: str, block: Unit, lang: str) -> Iterator[Unit]:
    if block.kind in ("table", "code"):
        yield block
    elif block.kind == "list":
        yield from cut_unit(text, block, 0, lang)
    else:
        for whole in cut_unit(text, block, 0, lang):
            yield from cut_unit(text, whole, 0, lang)
