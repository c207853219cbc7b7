"""The JSON shapes of the reference, read from the nouns that are printed: they cannot say anything else."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any


def shapes() -> dict[str, type]:
    """Verb to the noun that its --json prints."""
    from veraz.nouns.answer import Answer
    from veraz.nouns.context import Context
    from veraz.nouns.corpus import IngestReport
    from veraz.nouns.diagnosis import Diagnosis, SuiteDiagnosis
    from veraz.nouns.evaluation import EvalReport
    from veraz.nouns.evidence import SearchResult
    from veraz.nouns.identity import NewKey, Tenant
    from veraz.nouns.measure import IndexMeasurement, LiveRecall
    from veraz.nouns.repeated import Repeated
    from veraz.nouns.shown import Shown
    from veraz.nouns.status import Initialised, Status

    return {
        "init": Initialised,
        "status": Status,
        "ingest": IngestReport,
        "show": Shown,
        "repeated": Repeated,
        "search": SearchResult,
        "ask": Answer,
        "context": Context,
        "diagnose": Diagnosis,
        "diagnose --suite": SuiteDiagnosis,
        "eval run": EvalReport,
        "index measure": IndexMeasurement,
        "index measure --live": LiveRecall,
        "tenant add": Tenant,
        "key add": NewKey,
    }


def shape(noun: type, *, without: tuple[str, ...] = ()) -> str:
    """`{"rank", "score", "document": {"title", …}, "spans": [{"start", "end"}]}`, without values."""
    names = [field.name for field in dataclasses.fields(noun)]
    hints = typing.get_type_hints(noun)
    parts = [f'"{name}"{_inner(hints[name])}' for name in names if name not in without]
    return "{" + ", ".join(parts) + "}"


def _inner(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return f": {shape(typing.cast('type', hint))}"
    if origin in (types.UnionType, typing.Union):
        inner = next((found for a in arguments if (found := _inner(a))), "")
        return f"{inner}|null" if inner and type(None) in arguments else inner
    if origin is tuple:
        inner = _inner(arguments[0]).removeprefix(": ")
        return f": [{inner or '…'}]"
    return ""
