"""How a change is said for a shell or for veraz.toml. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

FILTER_FLAGS: Mapping[str, str] = {
    "sources": "--source",
    "langs": "--doc-lang",
    "authority": "--min-authority",
    "licenses": "--license",
    "jurisdictions": "--jurisdiction",
    "revised_from": "--revised-from",
    "revised_to": "--revised-to",
    "published_from": "--published-from",
    "published_to": "--published-to",
    "where": "--filter",
}
"""Of `search` and `ask`."""


def ingest(source: str, path: str = "PATH", *, chunker: str | None = None) -> str:
    chosen = f" --chunker {shlex.quote(chunker)}" if chunker else ""
    shown = path if path == "PATH" else shlex.quote(path)
    return f"veraz ingest {shown} --source {shlex.quote(source)}{chosen}"


def restore(external_id: str, source: str) -> str:
    return f"veraz restore {shlex.quote(external_id)} --source {shlex.quote(source)}"


def delete(external_id: str, source: str) -> str:
    return f"veraz delete {shlex.quote(external_id)} --source {shlex.quote(source)}"


def supersede_undo(external_id: str, source: str) -> str:
    return f"veraz supersede {shlex.quote(external_id)} --undo --source {shlex.quote(source)}"


def supersede(external_id: str, by: str, source: str) -> str:
    return f"veraz supersede {shlex.quote(external_id)} --by {shlex.quote(by)} --source {shlex.quote(source)}"


def open_window(external_id: str, source: str) -> str:
    return f"veraz access {shlex.quote(external_id)} --source {shlex.quote(source)} --no-window"


def setting(dotted: str, value: Any) -> str:
    """`[search] pool = 400`"""
    section, _, key = dotted.partition(".")
    return f"[{section}] {key} = {json.dumps(value)}"


def request(values: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    return "; ".join((*_flags(values), *(setting(name, value) for name, value in settings.items())))


def _flags(values: Mapping[str, Any]) -> Iterator[str]:
    flags = []
    for name, value in values.items():
        if name == "k":
            flags.append(f"-k {value}")
        elif name in ("mode", "lang", "fusion", "rerank"):
            flags.append(f"--{name} {value}")
        elif name == "exact":
            flags.append("--exact")
        elif name == "filters":
            flags += [f"{FILTER_FLAGS[f]} {_list(wanted)}" for f, wanted in value.items()]
        elif name == "verb":
            yield f"use `veraz {value}`"
        elif name == "question":
            yield f"ask instead: {value}"
    if flags:
        yield " ".join(flags)


def _list(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
