"""One line of a .jsonl collection: its text by the parser of its format, its other fields as metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import plain
from veraz.providers.parsers.fields import read_fields, read_title
from veraz.providers.parsers.file import located
from veraz.providers.parsers.outline import Outline, build_blocks, build_sections, repeated_spans, ruler_spans
from veraz.text.decode import storable

VERSION = "record/1"
_OWN = frozenset({"id", "_id", "title", "text", "format"})


def _outliners() -> Mapping[str, tuple[str, Callable[[str], Outline]]]:
    from veraz.providers.parsers import html, markdown  # they load libraries that plain text needs not

    return {
        "text": (plain.VERSION, plain.outline),
        "markdown": (markdown.VERSION, markdown.outline),
        "html": (html.VERSION, html.outline),
    }


class RecordParser:
    """Fields: `text` (required), `title`, `format` ("text", the default, "markdown" or "html"), those of
    `fields`; all others are kept under `meta`."""

    def parse(self, item: RawItem) -> ParsedDocument:
        """Raises ItemError (stage "parse") naming file, line and field."""
        record = item.record or {}
        try:
            return self._parse(item, record)
        except ItemError as error:
            raise located(error, item) from None

    def _parse(self, item: RawItem, record: Mapping[str, Any]) -> ParsedDocument:
        stated, notes = read_fields({key: value for key, value in record.items() if key not in _OWN})
        text, warnings = storable(_required_text(record))
        version, outliner = _format(record)
        outline = outliner(text)
        if outline.blank:
            raise ItemError("no content", stage="parse", fix="give the record a text, or leave it out")
        sections = build_sections(outline)
        return ParsedDocument(
            external_id=item.external_id,
            text=outline.text,
            title=read_title(record.get("title")) or (outline.title if version != plain.VERSION else ""),
            sections=sections,
            blocks=build_blocks(outline, sections),
            parser=f"{VERSION}+{version}",
            media=item.media,
            warnings=(*warnings, *outline.warnings, *notes),
            rulers=ruler_spans(outline),
            repeated=repeated_spans(outline),
            **stated,
        )


def _required_text(record: Mapping[str, Any]) -> str:
    text = record.get("text")
    if not isinstance(text, str):
        found = (
            "no field text"
            if text is None
            else f"field text: {type(text).__name__} where a string is expected"
        )
        raise ItemError(found, stage="parse", fix='give every record a string "text"')
    if not text.strip("\x00\ufeff \t\r\n\f\v"):
        raise ItemError("no content", stage="parse", fix="give the record a text, or leave it out")
    return text


def _format(record: Mapping[str, Any]) -> tuple[str, Callable[[str], Outline]]:
    name = record.get("format") or "text"
    if name == "text":
        return plain.VERSION, plain.outline
    outliners = _outliners()
    if not isinstance(name, str) or name not in outliners:
        raise ItemError(
            f"field format: {name!r} is unknown", stage="parse", fix=f"write one of {', '.join(outliners)}"
        )
    return outliners[name]
