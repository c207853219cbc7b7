"""Answers and refusals as plain text, in the language of the question (English, Spanish or French; else
English)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal

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


Unanswered = Literal["improbable", "dropped", "unread"]
"""Why there is no answer although nothing is missing: too improbable, too many claims that the sources do not carry, a question
or sentences that the embedding model does not take."""


def reason_text(
    shortfall: Shortfall | None, lang: str = "en", *, otherwise: Unanswered = "improbable"
) -> str:
    """Why there is no answer, as a sentence for the reader; `otherwise` where there is no shortfall."""
    said = _said(lang)
    if shortfall is None:
        return said[otherwise]
    return said[shortfall.kind].format(missing=_joined(shortfall.missing, said["and"]))


def marked(text: str, citations: Sequence[int]) -> str:
    return text + (" " if citations else "") + "".join(f"[{n}]" for n in citations)


def changes(citations: Sequence[Citation], lang: str, today: date) -> tuple[str, ...]:
    """What a reader must know of each cited document that is not what it seems: replaced, changed since, expired, only to hold
    from a later day, or recognised from a picture."""
    said, notes = _said(lang), dict[str, None]()
    for c in citations:
        for note in (_not_yet(c, said, today), _changed(c, said, today), _recognised(c, said)):
            if note:
                notes[note] = None
    return tuple(notes)


def _not_yet(c: Citation, said: Mapping[str, str], today: date) -> str:
    if c.holds_from is None or c.holds_from <= today:
        return ""
    note = said["not_yet"].format(document=_name(c), cited=c.revision, day=c.holds_from.isoformat())
    if c.in_force is None:
        return note
    other = f"{c.in_force.title or c.in_force.external_id} ({c.source}/{c.in_force.external_id})"
    return f"{note} {said['until_then'].format(document=other, revision=c.in_force.revision)}"


def _recognised(c: Citation, said: Mapping[str, str]) -> str:
    return said["recognised"].format(document=_name(c), page=c.page) if c.recognised else ""


def _changed(c: Citation, said: Mapping[str, str], today: date) -> str:
    name = _name(c)
    if c.superseded_by or c.superseded_since:
        later = c.superseded_since is not None and c.superseded_since > today
        known = c.superseded_since is not None and c.superseded_since.year > 1
        day = c.superseded_since.isoformat() if c.superseded_since and known else ""
        form = (
            "superseded_later"
            if later
            else "superseded_since"
            if day and not c.superseded_by
            else "superseded"
        )
        return said[form].format(document=name, successor=_successor(c) or said["hidden"], day=day)
    if not c.is_current:
        held = c.in_force
        if held is not None and (held.external_id, held.revision) == (c.external_id, c.revision):
            day = c.current_since.isoformat() if c.current_since else ""
            return said["changes_later"].format(
                document=name, cited=c.revision, current=c.current_revision, day=day
            )
        since = f", {c.current_since.isoformat()}" if c.current_since else ""
        current = (
            held.revision if held and held.external_id == c.external_id else f"{c.current_revision}{since}"
        )
        return said["changed"].format(document=name, cited=c.revision, current=current)
    if c.valid_to is not None and c.valid_to < today:
        return said["expired"].format(document=name, day=c.valid_to.isoformat())
    return ""


def _name(c: Citation) -> str:
    return f"{c.title or c.external_id} ({c.source}/{c.external_id})"


def _successor(c: Citation) -> str:
    if c.successor is None:
        return c.superseded_by or ""
    link = f" {c.successor.url}" if c.successor.url else ""
    return f"{c.successor.title or c.successor.external_id} ({c.successor.external_id}){link}"


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
