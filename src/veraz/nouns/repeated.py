"""What `repeated` returns: texts that several documents of a source share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """`documents` say `body` to the letter, in `passages` chunks; `example` is one of them."""

    documents: int
    passages: int
    example: str
    body: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """`repeated_passages` of the source's `all_passages` are said by another document too; both 0 where no text is shared."""

    source: str
    repeated_passages: int
    all_passages: int
    texts: tuple[RepeatedText, ...]
