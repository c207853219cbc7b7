"""What can be filtered by: fields with a type, and keys of the metadata with a declared one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from veraz.nouns.filter import FieldType, Operator


@dataclass(frozen=True, slots=True)
class Field:
    """`of_chunk`: it differs between the chunks of a document."""

    type: FieldType
    says: str
    of_chunk: bool = False


FIELDS: Mapping[str, Field] = {
    "source": Field("text", "the source's name (slug)"),
    "authority": Field("number", "the source's authority, 1 to 5"),
    "document": Field("text", "the document's external id"),
    "type": Field("text", "the document's type, where it states one"),
    "title": Field("text", "the revision's title"),
    "lang": Field("text", "ISO 639-1 code; null where no language was stated or found"),
    "license": Field("text", "the revision's licence, else its source's"),
    "jurisdiction": Field("text", "the revision's jurisdiction, else its source's"),
    "publisher": Field("text", "the publisher that the document states"),
    "url": Field("text", "where the document was published"),
    "item": Field("text", "what editions of one thing have in common"),
    "edition": Field("text", "the edition, as the document states it"),
    "published_at": Field("date", "when the revision was published"),
    "revised_at": Field("date", "when the revision was revised"),
    "valid_from": Field("date", "the first day on which the revision holds, where it is stated"),
    "valid_to": Field("date", "the last day on which it holds, where it is stated"),
    "labels": Field("list", "the access labels of the document"),
    "heading": Field("list", "the headings above the chunk, outermost first", of_chunk=True),
    "kind": Field("text", "paragraph, list, table, code or quote", of_chunk=True),
}

OPERATORS: Mapping[FieldType, tuple[Operator, ...]] = {
    "text": ("=", "in", "~", "is null"),
    "number": ("=", "<", "<=", ">", ">=", "in", "between", "is null"),
    "date": ("=", "<", "<=", ">", ">=", "in", "between", "is null"),
    "boolean": ("=", "is null"),
    "list": ("any", "all", "~", "is null"),
}
"""With `!=`, `!~` and `not` before in, between, any and all for the opposite."""

EXAMPLES: Mapping[FieldType, str] = {
    "text": "= 'text', in ('a', 'b') or ~ 'part'",
    "number": "= 4, >= 4, in (4, 5) or between 2 and 4",
    "date": "= 2024-01-31, >= today - 2 years or between 2024-01-01 and 2024-12-31",
    "boolean": "= true or = false",
    "list": "any ('a', 'b'), all ('a', 'b') or ~ 'part'",
}


def of_chunk(field: str) -> bool:
    return field != "meta" and FIELDS[field].of_chunk


def known_fields(declared: Mapping[str, FieldType]) -> str:
    """For a message: every field, and the keys of metadata whose type is declared."""
    keys = "".join(f", meta.{key}" for key in sorted(declared))
    return f"{', '.join(FIELDS)}{keys}, meta.KEY"
