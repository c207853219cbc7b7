"""Words cut at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_HYPHENS = "-‐\u00ad"
_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_END = re.compile(r"([^\W\d_]+(?:[-‐][^\W\d_]+)*)[-‐]$")
_START = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")


class Joiner:
    """Puts lines together. A hyphen at the end of one is dropped when the document writes the word without it elsewhere, or
    writes neither part alone; it stays when the document writes the word with it, or both parts as words of their own."""

    def __init__(self, lines: Iterable[str]) -> None:
        """`lines` of the whole document; the first and the last word of one may be half a word."""
        self.known: set[str] = set()
        for line in lines:
            found = _WORD.findall(line.replace("\u00ad", "").casefold())
            cut = line[-1:] in _HYPHENS
            self.known.update(found[1 : -1 if cut else None])

    def __call__(self, lines: Sequence[str]) -> str:
        """One text of lines."""
        text = ""
        for line in lines:
            if line:
                text, glue = self.ends(text, line)
                text = f"{text}{glue}{line}" if text else line
        return text.replace("\u00ad", "")

    def ends(self, text: str, following: str) -> tuple[str, str]:
        """The text as it ends before the next line, and what stands between."""
        if text.endswith("\u00ad"):
            return text[:-1], ""
        if not text or _is_wide(text[-1], following[:1]):
            return text, ""
        end, start = _END.search(text), _START.match(following)
        if not end or not start:
            return text, "" if text.endswith("/") else " "
        if not start[0][0].islower():
            return text, "" if end[1].islower() or end[1][-1:].islower() else " "
        return (text[:-1], "") if self._was_cut(end[1], start[0]) else (text, "")

    def _was_cut(self, left: str, right: str) -> bool:
        left, right = left.casefold(), right.casefold()
        if left + right in self.known:
            return True
        if f"{left}-{right}" in self.known or f"{left}‐{right}" in self.known:
            return False
        return left not in self.known or right not in self.known


def _is_wide(last: str, first: str) -> bool:
    """Whether both are of a script written without spaces: Chinese or Japanese."""
    return all(
        "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\uff00" <= char <= "\uffef"
        for char in last + first
    )
