"""The contextual header: what a chunk cannot say about itself."""

from __future__ import annotations

from collections.abc import Sequence

_SEPARATOR = " › "
_GAP = "…"


def contextual_header(
    source_name: str, title: str, heading_path: Sequence[str], *, max_chars: int = 400
) -> str:
    """Source name, title and heading path on up to three lines; the same input gives the same header.

    A heading equal to the title is not repeated. Above `max_chars` the middle of the heading path goes
    first (the outermost and the nearest heading say most), then the title and the nearest heading are cut
    at the end. Never longer than `max_chars`; "" when there is nothing to say or no room to say it.
    """
    source, title = _line(source_name), _line(title)
    path = [heading for heading in map(_line, heading_path) if heading]
    if path and path[0].casefold() == title.casefold():
        path = path[1:]
    for shown in _elisions(path):
        header = "\n".join(line for line in (source, title, _SEPARATOR.join(shown)) if line)
        if len(header) <= max_chars:
            return header
    return _cut(source, title, path[-1] if path else "", max_chars)


def _line(text: str) -> str:
    return " ".join(text.split())


def _elisions(path: list[str]) -> list[list[str]]:
    """The whole path, then with ever more of its middle left out."""
    shorter = [[path[0], _GAP, *path[-kept:]] for kept in range(len(path) - 2, 0, -1)]
    return [path, *shorter, [_GAP, path[-1]]] if len(path) > 2 else [path]


def _cut(source: str, title: str, nearest: str, max_chars: int) -> str:
    """What fits of title, nearest heading and source, in that order of worth."""
    if max_chars < 8:
        return ""
    half = max(4, max_chars // 2 - 1)
    lines = [_clip(title, half if nearest else max_chars), _clip(nearest, half if title else max_chars)]
    header = "\n".join(line for line in lines if line) or _clip(source, max_chars)
    with_source = f"{source}\n{header}"
    return with_source if source and len(with_source) <= max_chars else header[:max_chars]


def _clip(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1].rstrip() + _GAP
