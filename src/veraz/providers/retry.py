"""When to ask a provider again: exponential backoff with jitter, Retry-After, and a bound on the total
wait."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that another attempt may cure."""


def parse_retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait, from a Retry-After header in seconds or as an HTTP date (RFC 9110, 10.2.3); None if
    it is absent or unreadable."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


class Backoff:
    """The waits of one request. `next_wait` doubles from `first` up to `longest` seconds, each shortened by
    up to half at random so that clients spread; never shorter than what the server asked for, which gets a
    little on top."""

    def __init__(
        self,
        *,
        budget: float,
        first: float = 0.5,
        longest: float = 20.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._left = budget
        self._step = first
        self._longest = longest
        self._chance = chance
        self.attempts = 1

    def next_wait(self, asked: float | None = None) -> float | None:
        """Seconds before the next attempt, or None once the budget of waiting is spent."""
        wait = self._step * (1 - self._chance() / 2)
        if asked is not None:
            wait = max(wait, asked + 0.1 * self._chance())
        if wait > self._left:
            return None
        self._left -= wait
        self._step = min(self._step * 2, self._longest)
        self.attempts += 1
        return wait
