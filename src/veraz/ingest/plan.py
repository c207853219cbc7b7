"""Deciding what to do with an item before any work is spent on it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import msgspec

from veraz.nouns.corpus import Chunk, ParsedDocument, RawItem

ANALYSERS = ("en", "es", "fr", "de", "it", "pt", "nl", "sv", "da", "no", "fi", "ro", "hu", "ru", "tr")
UNKNOWN_ANALYSER = "xx"


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the caller states for every document of a run; None leaves what the document says."""

    lang: str | None = None
    revised_at: date | None = None
    acl: tuple[str, ...] | None = None
    supersedes: str | None = None
    license: str | None = None
    jurisdiction: str | None = None

    def apply(self, document: ParsedDocument) -> ParsedDocument:
        given: dict[str, Any] = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) is not None
        }
        return replace(document, **given)


def raw_hash(item: RawItem, overrides: Overrides, versions: Mapping[str, str]) -> bytes:
    """sha256 of everything that decides the stored revision: the bytes, what the caller states, parser and chunker.
    Access labels of the caller and of records are left out: they belong to the document and change without a new revision."""
    record = {name: value for name, value in (item.record or {}).items() if name != "acl"}
    digest = hashlib.sha256()
    digest.update(
        item.payload if item.payload is not None else msgspec.json.encode(record, order="deterministic")
    )
    stated = [getattr(overrides, name) for name in Overrides.__dataclass_fields__ if name != "acl"]
    digest.update(msgspec.json.encode([item.media, stated, versions], order="deterministic"))
    return digest.digest()


def content_hash(chunk: Chunk) -> bytes:
    """sha256 of exactly the text that is embedded."""
    return hashlib.sha256(chunk.embedded_text.encode()).digest()


def analyser_for(lang: str | None) -> str:
    return lang if lang in ANALYSERS else UNKNOWN_ANALYSER
