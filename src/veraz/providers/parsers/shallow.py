"""HTML no deeper than any page that people write. Readers of HTML take time that grows with the square of the depth."""

from __future__ import annotations

import re

DEEPEST = 2_000
_TAG = re.compile(
    r"<(/?)(div|span|b|i|u|a|font|em|strong|section|article|center|blockquote|ul|ol|table|big|small)(\s[^<>]*)?>",
    re.I,
)

_HIDES = re.compile(r"style|hidden|color", re.I)


def shallow(source: str) -> str:
    """`source` without the tags of elements that stand deeper than `DEEPEST`, but for those that may say that something is not
    to be seen; no word is lost."""
    if source.count("<") <= DEEPEST:
        return source
    parts: list[str] = []
    at = depth = 0
    dropped: list[bool] = []  # of each element below the deepest level, whether its tag was left out
    for tag in _TAG.finditer(source):
        leave_out = False
        if not tag[1]:
            depth += 1
            if depth > DEEPEST:
                leave_out = not (tag[3] and _HIDES.search(tag[3]))
                dropped.append(leave_out)
        elif depth > 0:
            depth -= 1
            leave_out = bool(dropped) and dropped.pop()
        if leave_out:
            parts.append(source[at : tag.start()])
            at = tag.end()
    return "".join([*parts, source[at:]]) if parts else source
