"""Deciding what to do with an item before any work is spent on it. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, get_args

import msgspec

from veraz.errors import ItemError, UsageError
from veraz.nouns.corpus import Access, AccessRule, Chunk, ParsedDocument, RawItem, SourceSettings
from veraz.text.decode import require_storable, storable

ANALYSERS = ("en", "es", "fr", "de", "it", "pt", "nl", "sv", "da", "no", "fi", "ro", "hu", "ru", "tr")
UNKNOWN_ANALYSER = "xx"
ID_CHARACTERS = 1_000
ID_BYTES = 2_000
"""PostgreSQL's indexes take rows of 2,704 bytes at most."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the caller states for every document of a run; None leaves what the document says."""

    lang: str | None = None
    revised_at: date | None = None
    access: Access | None = None
    supersedes: str | None = None
    license: str | None = None
    jurisdiction: str | None = None

    def apply(self, document: ParsedDocument) -> ParsedDocument:
        given: dict[str, Any] = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) is not None
        }
        return replace(document, **given)

    def stated(self) -> dict[str, str]:
        """What belongs to a revision, as it is stored beside it: access belongs to the document."""
        names = [name for name in self.__dataclass_fields__ if name != "access"]
        return {name: str(getattr(self, name)) for name in names if getattr(self, name) is not None}

    def after(self, earlier: Mapping[str, str]) -> Overrides:
        """With what was stated earlier of the same bytes, where nothing else is stated now."""
        kept: dict[str, Any] = {name: text for name, text in earlier.items() if getattr(self, name) is None}
        if "revised_at" in kept:
            kept["revised_at"] = date.fromisoformat(kept["revised_at"])
        return replace(self, **kept)


def not_yet(document: ParsedDocument, today: date) -> tuple[str, ...]:
    """A warning for a document that is current from now on though it says that it holds from a later day."""
    begins = stated_from(document)
    if begins is None or begins <= today:
        return ()
    return (f"holds from {begins.isoformat()}, and is the current revision from now on; answers say so",)


def check_source(settings: SourceSettings) -> None:
    """Raises UsageError for a slug, an authority or a text that the database would refuse."""
    require_storable("source", settings.name, settings.license, settings.jurisdiction, settings.base_url)
    authority: object = settings.authority
    if authority is not None and (type(authority) is not int or not 1 <= authority <= 5):
        raise UsageError(f"authority is {authority!r}", fix="give a number from 1 to 5")
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789_.-")
    if (
        not settings.slug
        or not set(settings.slug) <= allowed
        or settings.slug[0] in "_.-"
        or len(settings.slug) > 63
    ):
        raise UsageError(
            f"source {settings.slug!r} is not a slug",
            fix="use lower-case letters, digits, '-', '_' and '.', at most 63: --source nih",
        )


def check_access(
    labels: Sequence[str] | None,
    rule: AccessRule | None,
    owner: str | None,
    readable_from: datetime | None,
    readable_until: datetime | None,
) -> Access | None:
    """Who may read, as a caller states it; None where nothing is stated. Raises UsageError for what says nothing or too much."""
    if labels is None and rule is None and owner is None and readable_from is None and readable_until is None:
        return None
    if isinstance(labels, str):
        raise UsageError(f"labels is {labels!r}", fix=f"give a list of labels: [{labels!r}]")
    if rule is not None and rule not in get_args(AccessRule):
        raise UsageError(f"the rule is {rule!r}", fix=f"use one of: {', '.join(get_args(AccessRule))}")
    rule = rule or ("any" if labels or owner is None else "owner")
    if rule == "owner" and labels:
        raise UsageError(
            "labels beside the rule 'owner'", fix="leave the labels out, or use the rule any or all"
        )
    if rule == "owner" and not owner:
        raise UsageError("the rule 'owner' needs an owner", fix="name the owner's label")
    if readable_from and readable_until and readable_from >= readable_until:
        raise UsageError("the window ends before it begins", fix="exchange readable_from and readable_until")
    for label in (*(labels or ()), *((owner,) if owner is not None else ())):
        if not label.strip() or len(label) > 200 or not label.isprintable():
            raise UsageError(f"{label[:40]!r} is no label", fix="use printable characters, at most 200")
    chosen = (owner,) if rule == "owner" and owner else tuple(labels or ("public",))
    return Access(chosen, rule, owner, readable_from, readable_until)


def bytes_hash(item: RawItem) -> bytes:
    """sha256 of what was read. Access labels of records are left out: they belong to the document and change without a new
    revision."""
    record = {name: value for name, value in (item.record or {}).items() if name != "acl"}
    return hashlib.sha256(item.payload if item.payload is not None else _canonical(record)).digest()


def raw_hash(item: RawItem, versions: Mapping[str, str]) -> bytes:
    """sha256 of everything that decides the stored revision but what callers state: the bytes, parser and chunker."""
    digest = hashlib.sha256(bytes_hash(item))
    digest.update(msgspec.json.encode([item.media, versions], order="deterministic"))
    return digest.digest()


def _canonical(record: Mapping[str, Any]) -> bytes:
    """The record as JSON with its keys in order. Lone surrogates, which JSON may escape, have no UTF-8: they stay escaped."""
    try:
        return msgspec.json.encode(record, order="deterministic")
    except UnicodeEncodeError:
        return json.dumps(record, sort_keys=True).encode()


def check_ids(document: ParsedDocument) -> None:
    """Raises ItemError (stage "parse") for an id that no index can hold."""
    for field, value in (
        ("external id", document.external_id),
        ("supersedes", document.supersedes or ""),
        ("item", document.item or ""),
    ):
        if len(value) > ID_CHARACTERS or len(value.encode()) > ID_BYTES:
            raise ItemError(
                f"{field} is {len(value):,} characters long",
                external_id=document.external_id[:80],
                stage="parse",
                fix=f"ids hold at most {ID_CHARACTERS:,} characters, and {ID_BYTES:,} bytes in UTF-8",
            )


def is_storable_id(external_id: str) -> bool:
    """Whether an index can hold it, and PostgreSQL its characters."""
    return (
        len(external_id) <= ID_CHARACTERS
        and storable(external_id)[0] == external_id
        and len(external_id.encode()) <= ID_BYTES
    )


def content_hash(chunk: Chunk) -> bytes:
    """sha256 of exactly the text that is embedded."""
    return hashlib.sha256(chunk.embedded_text.encode()).digest()


def pooled_hash(document: ParsedDocument, chunk: Chunk) -> bytes:
    """The same for a chunk whose vector depends on its whole document: sha256 of both, and of the chunk's places."""
    places = msgspec.json.encode([[span.start, span.end] for span in chunk.spans])
    whole = hashlib.sha256(document.text.encode()).digest()
    return hashlib.sha256(b"pooled" + whole + places + chunk.embedded_text.encode()).digest()


def analyser_for(lang: str | None) -> str:
    return lang if lang in ANALYSERS else UNKNOWN_ANALYSER


def stated_from(document: ParsedDocument) -> date | None:
    """The day from which upstream says this revision holds; the same rule as the column of that name."""
    return document.valid_from or document.revised_at or document.published_at


def becomes_current(stated: date | None, current: date | None) -> bool:
    """Whether a revision takes the pointer: unless both say from when they hold, and it is the older. Versions of a document may
    arrive in any order; without dates the last to arrive is the newest."""
    return stated is None or current is None or stated >= current
