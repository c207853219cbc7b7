"""Chunkers, chosen by name: how a parsed document becomes chunks.

To add one: a module with a Struct whose fields are its options, and a line in `_CHUNKERS`. It is lossless (`dropped` proves
it) and keeps the limit; one contract test runs on all.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from veraz.errors import UsageError
from veraz.ingest.chunkers.context import ChunkContext, Chunker, ChunkerOptions
from veraz.ingest.chunkers.dropped import dropped
from veraz.ingest.chunkers.fixed import Fixed
from veraz.ingest.chunkers.late import Late, token_embedder
from veraz.ingest.chunkers.parent_child import ParentChild
from veraz.ingest.chunkers.recursive import Recursive
from veraz.ingest.chunkers.semantic import Semantic
from veraz.ingest.chunkers.sentence_window import SentenceWindow
from veraz.ingest.chunkers.structure import Structure

__all__ = [
    "CHUNKERS",
    "ChunkContext",
    "Chunker",
    "ChunkerOptions",
    "chunker",
    "dropped",
    "spelled_out",
    "stated_chunker",
    "token_embedder",
]

_Kind = (
    type[Structure]
    | type[ParentChild]
    | type[Recursive]
    | type[SentenceWindow]
    | type[Fixed]
    | type[Semantic]
    | type[Late]
)
_CHUNKERS: Mapping[str, _Kind] = {
    "structure": Structure,
    "parent-child": ParentChild,
    "recursive": Recursive,
    "sentence-window": SentenceWindow,
    "fixed": Fixed,
    "semantic": Semantic,
    "late": Late,
}
CHUNKERS = tuple(_CHUNKERS)


def stated_chunker(stated: str) -> Chunker:
    """The chunker of a name with its options, as a flag or a configuration states it: `fixed:size=200,overlap=40`."""
    name, _, options = stated.partition(":")
    pairs = dict(_pair(stated, option) for option in options.split(",") if option.strip())
    return chunker(name.strip(), pairs)


def spelled_out(stated: str, options: Mapping[str, int] | None = None) -> str:
    """A stated chunker with every option of it written, those of `options` that it takes over its own: chunkers that cut alike
    read alike. Raises UsageError for one that cannot be."""
    name = stated.partition(":")[0].strip()
    chosen = stated_chunker(stated)
    takes = {key: value for key, value in (options or {}).items() if key in type(chosen).__struct_fields__}  # type: ignore[attr-defined]
    made = chunker(name, {**msgspec.structs.asdict(chosen), **takes})  # type: ignore[arg-type]
    written = {key: value for key, value in msgspec.structs.asdict(made).items() if value is not None}  # type: ignore[arg-type]
    return ":".join(filter(None, [name, ",".join(f"{key}={value}" for key, value in written.items())]))


def _pair(stated: str, option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals:
        raise UsageError(
            f"chunker {stated!r}: {option.strip()!r} has no value", fix="write name:option=value,option=value"
        )
    return key.strip(), value.strip()


def chunker(name: str, options: ChunkerOptions) -> Chunker:
    """The chunker called `name`. Raises UsageError for an unknown name and for options that it cannot use."""
    if name not in _CHUNKERS:
        raise UsageError(f"no chunker is called {name!r}", fix=f"choose one of {', '.join(CHUNKERS)}")
    kind = _CHUNKERS[name]
    try:
        return msgspec.convert(dict(options), kind, strict=False)
    except msgspec.ValidationError as error:
        takes = ", ".join(kind.__struct_fields__) or "no options"
        raise UsageError(f"options of the chunker {name!r}: {error}", fix=f"it takes {takes}") from error
