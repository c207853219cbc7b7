"""The JSON that scripts read: nouns become the shapes of docs/reference/cli.md, on stdout, in UTF-8, as one document."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from veraz.cli.state import State


def emit(state: State, value: Any) -> None:
    """Prints `value` as one JSON document. Once an invocation."""
    if state.emitted:
        raise RuntimeError("a JSON document was printed already")
    click.echo(encode(value))
    state.emitted = True


def encode(value: Any) -> bytes:
    """Indented UTF-8. Dates are ISO 8601, UUIDs strings, numbers finite (anything else is null)."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain), indent=2)


def plain(value: Any) -> Any:
    """`value` as dicts, lists, strings and numbers."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return str(value)
    raise NotImplementedError(f"no JSON for {type(value).__name__}")
