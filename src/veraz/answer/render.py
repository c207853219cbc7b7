"""Answers and refusals as plain text, in the language of the question (English, Spanish or French; else
English)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from veraz.answer.sufficiency import Shortfall
from veraz.nouns.answer import Citation, Claim, Conflict, ConflictSide

_SAID: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("messages.toml").read_text("utf-8")
)


def answer_text(claims: Sequence[Claim]) -> str:
    """Claims as one text with [n] markers: "Cool a burn for 20 minutes. [1]". Empty for no claims."""
    return " ".join(marked(claim.text, claim.citations) for claim in claims)


def conflict_text(conflicts: Sequence[Conflict], citations: Sequence[Citation], lang: str = "en") -> str:
    """Each conflict with its sides, one a line, with title, source and date of what they cite."""
    known = {citation.n: citation for citation in citations}
    blocks = []
    for conflict in conflicts:
        lines = [_said(lang)["disagree"].format(topic=conflict.topic)]
        lines += [
            f"- {marked(side.text, side.citations)}{_attribution(side, known)}" for side in conflict.sides
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def reason_text(shortfall: Shortfall | None, lang: str = "en", *, dropped: bool = False) -> str:
    """Why there is no answer, as a sentence for the reader. Without a shortfall: too improbable, or, with
    `dropped`, too many claims that the sources do not carry."""
    said = _said(lang)
    if shortfall is None:
        return said["dropped" if dropped else "improbable"]
    return said[shortfall.kind].format(missing=_joined(shortfall.missing, said["and"]))


def marked(text: str, citations: Sequence[int]) -> str:
    return text + (" " if citations else "") + "".join(f"[{n}]" for n in citations)


def changes(citations: Sequence[Citation], lang: str, today: date) -> tuple[str, ...]:
    """What a reader must know of each cited document that is no longer what it was: replaced, changed since, or expired."""
    said, notes = _said(lang), dict[str, None]()
    for c in citations:
        name = f"{c.title or c.external_id} ({c.source}/{c.external_id})"
        if c.superseded_by:
            successor = c.successor
            end = (
                f"{successor.title or successor.external_id} ({successor.external_id})"
                if successor
                else c.superseded_by
            )
            link = f" {successor.url}" if successor and successor.url else ""
            notes[said["superseded"].format(document=name, successor=f"{end}{link}")] = None
        elif not c.is_current:
            since = f", {c.current_since.isoformat()}" if c.current_since else ""
            notes[
                said["changed"].format(
                    document=name, cited=c.revision, current=f"{c.current_revision}{since}"
                )
            ] = None
        elif c.valid_to is not None and c.valid_to < today:
            notes[said["expired"].format(document=name, day=c.valid_to.isoformat())] = None
    return tuple(notes)


def _attribution(side: ConflictSide, known: Mapping[int, Citation]) -> str:
    cited = [known[n] for n in side.citations if n in known]
    shown = [
        f"{c.title}, {c.publisher or c.source}" + (f", {c.revised_at.isoformat()}" if c.revised_at else "")
        for c in cited
    ]
    return f" ({'; '.join(shown)})" if shown else ""


def _joined(items: Sequence[str], last: str) -> str:
    quoted = [f"“{item}”" for item in items]
    return (
        quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}" if quoted else ""
    )


def _said(lang: str) -> Mapping[str, str]:
    return _SAID.get(lang, _SAID["en"])
