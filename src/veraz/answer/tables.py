"""The header of a pipe table above one of its rows, found in the revision's text."""

from __future__ import annotations

import re

_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_MOST_ROWS = 2_000  # how far up a header is looked for


def is_row(line: str) -> bool:
    return len(_BAR.findall(line)) >= 2 or line.lstrip().startswith("|")


def is_separator(line: str) -> bool:
    return "-" in line and _SEPARATOR.fullmatch(line) is not None


def cells(line: str) -> list[str]:
    inner = line.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") else inner
    return [cell.strip() for cell in _BAR.split(inner)]


def header_above(text: str, start: int) -> str | None:
    """The header line of the table whose row begins at `start`; None when the row is the header or has
    none."""
    above: list[str] = []
    for line in reversed(text[: _line_start(text, start)].splitlines()[-_MOST_ROWS:]):
        if not is_row(line):
            break
        above.append(line)
    for at, line in enumerate(above):
        if is_separator(line):
            return above[at + 1] if at + 1 < len(above) else None
    return None


def is_header(text: str, end: int) -> bool:
    """Whether the row that ends at `end` stands right above a separator line."""
    following = text[end:].lstrip("\r\n").split("\n", 1)[0]
    return is_separator(following) and "|" in following


def named_cells(header: str | None, row: str) -> str:
    """A row as a reader sees it outside its table: "eGFR: 30 to 44; Dose: 1000 mg"."""
    names = cells(header) if header else []
    shown = [
        f"{names[at]}: {cell}" if at < len(names) and names[at] else cell
        for at, cell in enumerate(cells(row))
        if cell
    ]
    return "; ".join(shown)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
