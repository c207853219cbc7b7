"""queries.jsonl of a suite: the questions, and the circumstances in which each is asked."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, identifier, objects
from veraz.filters.grammar import parse
from veraz.nouns.question import Filters
from veraz.nouns.suite import Expected, Manifest, QueryRequest

FILTERS = tuple(f.name for f in fields(Filters))
KEYS_FIX = (
    "id (or _id), text, and as needed: lang, tenant, roles, filters, as_of, facets, outcome, facts, split"
)


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    """A line without its id."""

    text: str
    lang: str | None = None
    tenant: str | None = None
    roles: list[str] | None = None
    filters: dict[str, Any] = {}
    as_of: date | None = None
    facets: list[str] = []
    outcome: Expected | None = None
    facts: list[str] = []
    split: str | None = None


def read_requests(path: Path, manifest: Manifest) -> dict[str, QueryRequest]:
    """Query id → request, in file order. Raises UsageError, naming file and line, for a field that is unknown or wrong, an
    id that is used twice, and a split that suite.toml does not name."""
    found: dict[str, QueryRequest] = {}
    for number, record in objects(path):
        query_id = identifier(path, number, record)
        if query_id in found:
            fault(path, number, f"query id {query_id!r} is used twice", "give every query an id of its own")
        found[query_id] = _request(path, number, query_id, record, manifest)
    if not found:
        raise UsageError(f"{path}: no queries", fix='one {"id": …, "text": …} a line')
    return found


def request_line(request: QueryRequest, manifest: Manifest) -> str:
    """The line of queries.jsonl that says this request; what is the suite's default is left out."""
    stated: dict[str, Any] = {"id": request.query_id, "text": request.text}
    filters = {n: v for n in FILTERS if (v := getattr(request.filters, n)) is not None}
    defaults = {"lang": manifest.lang, "split": manifest.splits[0]}
    for name in ("lang", "tenant", "roles", "filters", "as_of", "facets", "outcome", "facts", "split"):
        value = filters if name == "filters" else getattr(request, name)
        if value not in (None, (), {}) and value != defaults.get(name):
            stated[name] = value
    return msgspec.json.encode(stated).decode()


def _request(
    path: Path, number: int, query_id: str, record: dict[str, Any], manifest: Manifest
) -> QueryRequest:
    said = {key: value for key, value in record.items() if key not in ("id", "_id")}
    try:
        stated = msgspec.convert(said, _Fields)
    except msgspec.ValidationError as error:
        fault(path, number, f"query {query_id!r}: {error}", KEYS_FIX)
    if not stated.text.strip():
        fault(path, number, f"query {query_id!r} has no text", "give every query a `text`")
    split = stated.split or manifest.splits[0]
    if split not in manifest.splits:
        known = ", ".join(manifest.splits)
        fault(path, number, f"query {query_id!r} is in the split {split!r}", f"suite.toml names: {known}")
    for name in ("roles", "facets", "facts"):
        _check_texts(path, number, f"query {query_id!r}: {name}", getattr(stated, name))
    return QueryRequest(
        query_id=query_id,
        text=stated.text,
        lang=stated.lang or manifest.lang,
        tenant=stated.tenant,
        roles=None if stated.roles is None else tuple(stated.roles),
        filters=_filters(path, number, query_id, stated.filters),
        as_of=stated.as_of,
        facets=tuple(stated.facets),
        outcome=stated.outcome,
        facts=tuple(stated.facts),
        split=split,
    )


def _filters(path: Path, number: int, query_id: str, stated: dict[str, Any]) -> Filters:
    unknown = [name for name in stated if name not in FILTERS]
    if unknown:
        fault(path, number, f"query {query_id!r} filters by {unknown[0]!r}", f"use: {', '.join(FILTERS)}")
    try:
        filters = msgspec.convert(stated, Filters)
        if filters.where is not None:
            parse(filters.where)
        return filters
    except UsageError as error:
        fault(path, number, f"query {query_id!r}: {error.what}", error.fix or "")
    except msgspec.ValidationError as error:
        fault(
            path,
            number,
            f"query {query_id!r}: filters: {error}",
            "sources, langs, licenses and jurisdictions are lists, dates YYYY-MM-DD, authority 1 to 5, where an expression",
        )


def _check_texts(path: Path, number: int, what: str, values: list[str] | None) -> None:
    if values and any(not value.strip() for value in values):
        fault(path, number, f"{what} holds a blank text", "leave it out")
    if values and len(set(values)) != len(values):
        fault(path, number, f"{what} names one value twice", "name each once")
