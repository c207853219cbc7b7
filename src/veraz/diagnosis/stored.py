"""Which stage before any search lost a passage: what was taken in, cut, is current, deleted, filtered, permitted. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from veraz.diagnosis import commands
from veraz.diagnosis.asked import Trial
from veraz.diagnosis.facts import (
    Excluding,
    KnownChunk,
    KnownDocument,
    KnownFailure,
    KnownRevision,
    dropped_why,
    found,
    held_on,
)
from veraz.filters.said import all_of, name_of, said
from veraz.nouns.corpus import Span
from veraz.nouns.diagnosis import Change, Stage
from veraz.nouns.filter import comparisons_of
from veraz.nouns.question import Filters


@dataclass(frozen=True, slots=True)
class Verdict:
    """`changes`: the smallest first."""

    stage: Stage
    detail: str
    changes: tuple[Change, ...] = ()
    cause: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """What was expected, as it is stored: a revision of a document, and those of its chunks that count as the passage. `span` is
    where the fact stands in the revision's text. `shown` is the revision that search would show, were nothing in the way.
    `excluding`: what the conditions of the filter expression make of its chunks."""

    document: KnownDocument
    revisions: tuple[KnownRevision, ...]
    revision: KnownRevision
    shown: KnownRevision | None
    chunks: tuple[KnownChunk, ...]
    targets: tuple[KnownChunk, ...]
    fact: str | None
    span: Span | None
    ord: int | None
    excluding: tuple[Excluding, ...] = ()

    @property
    def ids(self) -> frozenset[UUID]:
        return frozenset(chunk.chunk_id for chunk in self.targets)


def choose_revision(
    document: KnownDocument, revisions: Sequence[KnownRevision], fact: str | None, as_of: date | None
) -> tuple[KnownRevision | None, KnownRevision | None]:
    """The revision whose passage is meant, and the one that search shows: the first is the second, unless the fact stands in
    another one only, or none is shown. None where no text is left."""
    if as_of is None:
        shown = next((r for r in revisions if r.revision_id == document.current_revision_id), None)
    else:
        shown = held_on(revisions, as_of)
    holders = [r for r in revisions if fact and found(fact, r.text)]
    if shown is None or (holders and shown not in holders):
        chosen = holders[0] if holders else next(iter(revisions), None)
        return chosen, shown
    return shown, shown


def refused(failures: Sequence[KnownFailure], *, missing: str) -> Verdict | None:
    """`missing` says what its success would have brought."""
    if not failures:
        return None
    failure = failures[0]
    path = re.sub(r":\d+$", "", failure.path)  # of a record, its line stands behind
    values = {"path": path, "source": failure.source, "external_id": failure.external_id}
    detail = (
        f"{missing}: on {failure.failed_at:%Y-%m-%d %H:%M} step {failure.stage} refused it: {failure.reason}"
    )
    change = Change("ingest", values, commands.ingest(failure.source, path or "PATH"))
    return Verdict("refused", detail, (change,), failure.stage, {"step": failure.stage})


def cut(passage: Passage, wanted_ord: int | None, trial: Trial) -> Verdict | None:
    """Whether no single chunk holds what was expected: the fact goes over several, or is in none."""
    if passage.targets:
        return None
    document, revision = passage.document, passage.revision
    mended = Change(
        "reingest",
        {"source": document.source, "external_id": document.external_id},
        f"mend the source, then {commands.ingest(document.source)}",
    )
    if passage.fact is None:
        last = max((c.ord for c in passage.chunks), default=-1)
        detail = f"revision {revision.number} has no chunk {wanted_ord}: they go from 0 to {last}"
        return Verdict("cut", detail, (), "order")
    if passage.span is None:
        detail = (
            "the fact is in no revision's text as parsed: the parser left it out (hidden, repeated, a picture without OCR), "
            f"or the document does not say it in these words; revision {revision.number} is the current one"
        )
        return Verdict("cut", detail, (mended,), "absent")
    over = [c for c in passage.chunks if c.covers(passage.span)]
    if len(over) > 1 or (over and dropped_why(revision, passage.span) is None):
        names = ", ".join(f"#{c.ord}" for c in over)
        detail = (
            f"the fact goes over {len(over)} chunks ({names}) of {revision.chunker}, and none holds all of it"
        )
        return Verdict("cut", detail, tuple(_recut(passage, trial)), "split")
    why = dropped_why(revision, passage.span) or "blank"
    detail = f"the fact stands in the text of revision {revision.number} and in no chunk: it was dropped as {_DROPPED[why]}"
    return Verdict("cut", detail, (mended,), why)


_DROPPED = {
    "blank": "white space",
    "heading": "a heading, which is kept with what stands below it alone",
    "markup": "markup that readers do not see",
    "repeated": "what every page says again",
    "ruler": "a drawn line",
}

MOST_TOKENS = 512


def _recut(passage: Passage, trial: Trial) -> Iterator[Change]:
    """Cuts that could hold the fact whole: by structure, then larger, then with what stands around it shown."""
    document = passage.document
    place = {"source": document.source, "external_id": document.external_id}
    settings = trial.config.ingest
    larger = {"chunk_tokens": MOST_TOKENS} if settings.chunk_tokens < MOST_TOKENS else {}
    tried = []
    if not passage.revision.chunker.startswith("structure"):
        tried.append("structure")
    elif larger:
        tried.append(settings.chunker)
    if not passage.revision.chunker.startswith("parent-child"):
        tried.append("parent-child")
    for chunker in tried:
        values = {**place, "chunker": chunker, **({"ingest": larger} if larger else {})}
        said = f"{commands.setting('ingest.chunk_tokens', MOST_TOKENS)}; " if larger else ""
        yield Change("reingest", values, said + commands.ingest(document.source, chunker=chunker))


def embedding_missing(passage: Passage, space: str) -> Verdict | None:
    """Whether no chunk of the passage has a vector in the active space."""
    if not passage.targets or any(c.has_vector for c in passage.targets):
        return None
    document = passage.document
    values = {"source": document.source, "external_id": document.external_id, "delete_first": True}
    command = f"{commands.delete(document.external_id, document.source)}; {commands.ingest(document.source)}"
    detail = f"the passage has no vector in the active space {space}, so the semantic arm cannot find it"
    return Verdict("embedding_missing", detail, (Change("reingest", values, command),))


# --- current


def not_current(passage: Passage, trial: Trial, today: date) -> Verdict | None:
    """Whether search shows another revision, or none: of today, or on the day that is asked for."""
    document, revision, as_of = passage.document, passage.revision, trial.asked.as_of
    day = as_of or today
    replaced = document.is_superseded if as_of is None else _superseded_by(document, as_of)
    if passage.shown == revision and not replaced:
        return None
    changes = tuple(_to_a_day(passage, as_of, today))
    if passage.shown == revision:
        by = (
            f"by {document.superseded_by!r}"
            if document.superseded_by
            else "by a document that may not be named"
        )
        since = (
            f" since {document.superseded_from}"
            if document.superseded_from and document.superseded_from.year > 1
            else ""
        )
        undo = Change(
            "supersede",
            {"source": document.source, "external_id": document.external_id, "undo": True},
            commands.supersede_undo(document.external_id, document.source),
        )
        detail = f"the document is superseded {by}{since}: search shows only what is current"
        return Verdict("not_current", detail, (*changes, undo), "superseded")
    if passage.shown is None and as_of is not None:
        later = revision.effective_from > day
        detail = (
            f"revision {revision.number} holds from {revision.effective_from}, after {day}"
            if later
            else f"revision {revision.number} did not hold on {day}: it holds until {revision.valid_to}"
        )
        return Verdict("not_current", detail, changes, "later" if later else "ended")
    number = passage.shown.number if passage.shown else "none"
    when = f"on {day} " if as_of else ""
    detail = f"revision {revision.number} says it, and {when}revision {number} is the one that is searched"
    again = Change(
        "ingest",
        {"source": document.source, "external_id": document.external_id},
        f"ingest that version again: {commands.ingest(document.source)}",
    )
    return Verdict("not_current", detail, changes or (again,), "revision")


def _superseded_by(document: KnownDocument, day: date) -> bool:
    return document.superseded_from is not None and document.superseded_from <= day


def _to_a_day(passage: Passage, as_of: date | None, today: date) -> Iterator[Change]:
    """The day nearest to the one asked for on which this revision held and its document was not superseded; no day, where it is
    searched without one."""
    document, revision = passage.document, passage.revision
    is_current = revision.revision_id == document.current_revision_id and not document.is_superseded
    day = _day_of(passage, as_of or today)
    if day is not None:
        yield Change("request", {"as_of": day}, f"--as-of {day}")
    if as_of is not None and is_current:
        yield Change("request", {"as_of": None}, "leave --as-of out")


def _day_of(passage: Passage, near: date) -> date | None:
    """A revision holds over a range of days, cut by the next one's beginning, its own end, and its document's supersession."""
    document, revision = passage.document, passage.revision
    first = revision.effective_from
    following = [
        r.effective_from for r in passage.revisions if (r.effective_from, r.number) > (first, revision.number)
    ]
    ends = [day - timedelta(days=1) for day in following if day > date.min]
    if revision.valid_to is not None:
        ends.append(revision.valid_to)
    if document.superseded_from is not None:
        if document.superseded_from <= date.min:
            return None
        ends.append(document.superseded_from - timedelta(days=1))
    last = min(ends, default=date.max)
    return None if last < first else min(max(near, first), last)


# --- deleted, filtered, permitted


def deleted(document: KnownDocument, *, has_text: bool) -> Verdict | None:
    if document.deleted_at is None:
        return None
    place = {"source": document.source, "external_id": document.external_id}
    restore = commands.restore(document.external_id, document.source)
    if document.erased_at is not None:
        detail = f"the document was erased on {document.erased_at:%Y-%m-%d}: its text is gone"
        change = Change(
            "reingest", {**place, "restore": True}, f"{restore}; {commands.ingest(document.source)}"
        )
        return Verdict("deleted", detail, (change,), "erased")
    if not has_text:
        detail = f"the document was deleted on {document.deleted_at:%Y-%m-%d}, and its text let go since"
        return Verdict(
            "deleted", detail, (Change("reingest", place, commands.ingest(document.source)),), "purged"
        )
    detail = f"the document was deleted on {document.deleted_at:%Y-%m-%d}"
    return Verdict("deleted", detail, (Change("restore", place, restore),))


def filtered(passage: Passage, filters: Filters) -> Verdict | None:
    """Which filters exclude it: the rule of `eligible` in the schema."""
    excluding = dict(_excluding(passage, filters))
    unmet = _unmet(passage)
    if not excluding and not unmet:
        return None
    names = [f"{commands.FILTER_FLAGS[name]} (it has {has})" for name, has in excluding.items()]
    names += [f"--filter: {said(part.condition)} ({_has(part)})" for part in unmet]
    values: dict[str, Any] = dict.fromkeys(excluding)
    how = "leave out " + " and ".join(commands.FILTER_FLAGS[name] for name in excluding) if excluding else ""
    if unmet:
        rest = all_of(part.condition for part in passage.excluding if part not in unmet)
        values["where"] = rest or None
        instead = f"--filter {shlex.quote(rest)}" if rest else "leave out --filter"
        how = f"{how}, and {instead}" if how else instead
    change = Change("request", {"filters": values}, how)
    return Verdict("filtered", f"excluded by {', '.join(names)}", (change,), ",".join(values))


def _unmet(passage: Passage) -> list[Excluding]:
    """The conditions that keep every chunk of the passage out: those that none meets, else those that the chunk which meets most
    does not meet. None where one chunk meets all."""
    if not passage.excluding or not passage.ids:
        return []
    by_chunk = {key: [part for part in passage.excluding if key in part.chunks] for key in passage.ids}
    least = min(by_chunk.values(), key=len)
    together = [part for part in passage.excluding if passage.ids <= set(part.chunks)]
    return (together or least) if least else []


def _has(part: Excluding) -> str:
    """What the passage has in the fields that a condition asks for."""
    has = next(iter(part.chunks.values()))
    shown = {}
    for test in comparisons_of(part.condition):
        value: Any = has.get(test.field)
        for key in test.path:
            value = value.get(key) if isinstance(value, dict) else None
        shown[name_of(test)] = "nothing" if value in (None, [], "") else _short(value)
    return "it has " + ", ".join(
        f"{name} {value}" if len(shown) > 1 else value for name, value in shown.items()
    )


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _excluding(passage: Passage, filters: Filters) -> Iterator[tuple[str, str]]:
    document, revision = passage.document, passage.revision
    named = {
        "sources": document.source,
        "langs": revision.lang,
        "licenses": revision.license or document.license,
        "jurisdictions": revision.jurisdiction or document.jurisdiction,
    }
    for name, value in named.items():
        wanted = getattr(filters, name)
        if wanted is not None and value not in wanted:
            yield name, str(value or "none")
    if filters.authority is not None and document.authority < filters.authority:
        yield "authority", str(document.authority)
    for name, day in (("revised", revision.revised_at), ("published", revision.published_at)):
        first, last = getattr(filters, f"{name}_from"), getattr(filters, f"{name}_to")
        if first is not None and (day is None or day < first):
            yield f"{name}_from", str(day or "no such date")
        if last is not None and (day is None or day > last):
            yield f"{name}_to", str(day or "no such date")


def not_permitted(document: KnownDocument, roles: Sequence[str], now: datetime) -> Verdict | None:
    """Told to those who may know of the document though they may not read it."""
    if document.may_read:
        return None
    wanted = _roles(document, roles, now)
    place = {"source": document.source, "external_id": document.external_id}
    if wanted is not None:
        asking = (*roles, *(label for label in wanted if label not in roles))
        change = Change("request", {"roles": list(asking)}, f"--roles {','.join(asking)}")
        rule = f"rule {document.acl_rule}, labels {', '.join(document.acl)}"
        detail = f"the roles {', '.join(roles)} do not open it ({rule})"
        return Verdict("not_permitted", detail, (change,), "labels")
    early = document.readable_from is not None and document.readable_from > now
    bound = "readable_from" if early else "readable_until"
    detail = f"it is readable {'from ' if early else 'until '}{getattr(document, bound):%Y-%m-%d %H:%M}"
    change = Change(
        "access", {**place, bound: None}, commands.open_window(document.external_id, document.source)
    )
    return Verdict("not_permitted", detail, (change,), "window")


def _roles(document: KnownDocument, roles: Sequence[str], now: datetime) -> tuple[str, ...] | None:
    """The labels to add; None where no label but a window of time is in the way."""
    is_open = (document.readable_from is None or document.readable_from <= now) and (
        document.readable_until is None or now < document.readable_until
    )
    if document.owner is not None and (not is_open or document.acl_rule == "owner"):
        return (document.owner,)
    if not is_open:
        return None
    missing = [label for label in document.acl if label not in roles]
    return tuple(missing if document.acl_rule == "all" else missing[:1])
