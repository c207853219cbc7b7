"""Titles of drug labels, which begin with what every one of them says of itself."""

from __future__ import annotations

import re

_NOTICE = re.compile(
    r"(?:These highlights do not include all the information|See full prescribing information for)\b[^.]*\.\s*",
    re.I,
)
_APPROVAL = re.compile(r"\s*Initial U\.?\s?S\.? Approval\s*:?\s*\d{4}\s*", re.I)


def without_notice(title: str) -> str:
    """The title without the sentences of the notice and the year of approval; "" where nothing else is in it."""
    return _APPROVAL.sub(" ", _NOTICE.sub("", title)).strip()
