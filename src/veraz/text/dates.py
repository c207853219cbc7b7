"""Dates as documents state them."""

from __future__ import annotations

import re
from datetime import date, datetime

_PARTIAL = re.compile(r"\d{4}(-\d{1,2})?")

ACCEPTED = "YYYY-MM-DD, YYYYMMDD, or an ISO 8601 date and time"


def parse_date(value: object) -> date:
    """The calendar date of an ISO 8601 date or date-time, as written (no time zone conversion).

    Raises ValueError whose message states the accepted forms; a bare year or month is not completed by
    guessing.
    """
    text = str(value).strip()
    if _PARTIAL.fullmatch(text):
        raise ValueError(f"{text!r} has no day: write a full date ({ACCEPTED})")
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        raise ValueError(f"{text!r} is not a date: write {ACCEPTED}") from None
