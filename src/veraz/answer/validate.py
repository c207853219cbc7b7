"""Checks, in code, that a claim says no more than what it cites. They work on any claim, from any generator.

A claim is dropped, with a reason, when it cites nothing or a number that does not exist, when a citation's
quote is not text[start:end] of the stored revision, when it puts words in quotation marks that the cited
text does not have, when a number, unit or negation of it is not in the cited text, or when it leaves out
whom the cited sentence is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from veraz.answer.numerals import as_written
from veraz.answer.quantities import Quantity, numbers, quantities
from veraz.answer.sentences import RevisionKey
from veraz.answer.subjects import negations, populations
from veraz.answer.tables import Place, Tables
from veraz.answer.words import stems
from veraz.nouns.answer import Citation, Claim, Conflict, Dropped
from veraz.text.sentences import sentence_spans
from veraz.text.tables import is_row

_MARKER = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_QUOTED = re.compile(r"[\"“”«»„]([^\"“”«»„]{3,})[\"“”«»„]")
_MOST_DROPPED = 0.5  # above this share of claims, what is left is no answer


@dataclass(frozen=True, slots=True)
class Validation:
    """`refused` is true when nothing is left, or more than half of the claims had to be dropped."""

    claims: tuple[Claim, ...]
    dropped: tuple[Dropped, ...]
    refused: bool


def validate(
    claims: Sequence[Claim], citations: Sequence[Citation], texts: Mapping[RevisionKey, str]
) -> Validation:
    """Keep the claims that pass every check. `texts` holds the stored text of each cited revision."""
    known = {citation.n: citation for citation in citations}
    kept, dropped = [], []
    for claim in claims:
        why = objection(claim, known, texts)
        if why is None:
            kept.append(claim)
        else:
            dropped.append(Dropped(claim.text, why))
    refused = bool(claims) and (not kept or len(dropped) > _MOST_DROPPED * len(claims))
    return Validation(tuple(kept), tuple(dropped), refused or not claims)


def validate_conflicts(
    disputes: Sequence[Conflict], citations: Sequence[Citation], texts: Mapping[RevisionKey, str]
) -> tuple[tuple[Conflict, ...], tuple[Dropped, ...]]:
    """The sides that pass the same checks as claims do; a conflict that has fewer than two left is none."""
    known = {citation.n: citation for citation in citations}
    kept, dropped = [], []
    for dispute in disputes:
        sides = []
        for side in dispute.sides:
            why = objection(Claim(side.text, side.citations, 0.0), known, texts)
            if why is None:
                sides.append(side)
            else:
                dropped.append(Dropped(side.text, why))
        if len(sides) > 1:
            kept.append(replace(dispute, sides=tuple(sides)))
    return tuple(kept), tuple(dropped)


def objection(claim: Claim, known: Mapping[int, Citation], texts: Mapping[RevisionKey, str]) -> str | None:
    """Why a claim cannot stand; None when it can."""
    if not claim.citations:
        return "it cites nothing"
    unknown = [n for n in claim.citations if n not in known]
    if unknown:
        return f"it cites {_listed(unknown)}, which is not among the sources"
    cited = [known[n] for n in claim.citations]
    for citation in cited:
        if wrong := _misquoted(citation, texts):
            return wrong
    rows = [_row(citation, texts) for citation in cited]
    passages = [(row.passage() if row else c.quote, c.lang) for c, row in zip(cited, rows, strict=True)]
    passage = "\n".join(text for text, _ in passages)
    wrong = _false_quotation(claim.text, passage) or _added(claim.text, passages)
    if wrong or any(row and _repeats(claim.text, row) for row in rows):
        return wrong
    return _turned(claim.text, passage)


def claims_from_text(raw: str, lang: str = "en") -> tuple[Claim, ...]:
    """Sentences of a generated text as claims, with the [n] markers that follow each; a sentence without
    markers has no citations and will be dropped."""
    claims = []
    for text in _marked_sentences(raw, lang):
        cited = [int(n) for group in _MARKER.findall(text) for n in group.split(",")]
        claims.append(Claim(_MARKER.sub("", text).strip(), tuple(dict.fromkeys(cited)), 0.0))
    return tuple(claims)


def _marked_sentences(raw: str, lang: str) -> list[str]:
    """Sentences with their markers, whether these stand before or after the full stop."""
    moved = re.sub(r"([.!?][\"”»]?)((?:\s*\[\d+(?:\s*,\s*\d+)*\])+)", r"\2\1", raw)
    return [moved[s.start : s.end] for s in sentence_spans(moved, lang)]


def _misquoted(citation: Citation, texts: Mapping[RevisionKey, str]) -> str | None:
    text = texts.get(_key(citation))
    if text is None:
        return f"the text of source [{citation.n}] is not available"
    if not citation.quote or text[citation.start : citation.end] != citation.quote:
        return f"the quotation of source [{citation.n}] is not what its revision says there"
    return None


def _row(citation: Citation, texts: Mapping[RevisionKey, str]) -> Place | None:
    """The row of a table that a quotation is, or is a part of."""
    text = texts[_key(citation)]
    line = text[text.rfind("\n", 0, citation.start) + 1 : citation.end]
    place = Tables(text).at(citation.start) if is_row(citation.quote) or line.startswith("|") else None
    return place if place and place.at is not None else None


def _repeats(claim: str, row: Place) -> bool:
    """Whether a claim is nothing but named cells of a row, and what it leaves out is no group of people."""
    left_out = row.left_out(claim)
    return left_out is not None and not populations(left_out)


def _false_quotation(text: str, passage: str) -> str | None:
    there = _even(passage)
    for quoted in _QUOTED.findall(text):
        if _even(quoted).rstrip(".,;:") not in there:
            return f"it quotes “{quoted}”, which the source does not say"
    return None


def _added(text: str, passages: Sequence[tuple[str, str]]) -> str | None:
    """Numbers and measures that the sources (with their languages) do not have. A claim writes numbers as its sources do."""
    languages = {lang for _, lang in passages}
    lang = languages.pop() if len(languages) == 1 else ""
    extra = numbers(text, lang).difference(*(numbers(*passage) for passage in passages))
    if extra:
        return f"the source does not have the number {_listed(sorted(map(as_written, extra)))}"
    measured = [q for passage in passages for q in quantities(*passage) if q.unit]
    for quantity in quantities(text, lang):
        if quantity.unit and not any(_says(m, quantity) for m in measured):
            return "the source does not have this number with this unit"
    return None


def _says(measured: Quantity, claimed: Quantity) -> bool:
    """Whether the source's quantity states every value of the claim's: a range states its two ends. A doubtful number is stated
    by the same spelling alone."""
    return (
        measured.unit == claimed.unit
        and measured.doubtful == claimed.doubtful
        and set(claimed.values) <= set(measured.values)
    )


def _turned(text: str, passage: str) -> str | None:
    """A negation or a population that was added to, or left out of, the sentences that the claim repeats."""
    # The cells of a table row are one statement, whatever full stops they hold.
    repeated = passage if is_row(passage.splitlines()[-1]) else _nearest_sentences(text, passage)
    if (negations(text) > 0) != (negations(repeated) > 0):
        return "the source and the claim do not deny the same"
    left_out = populations(repeated) - populations(text)
    if left_out and not _verbatim_sentence(text, passage):
        return f"it leaves out whom the source is about: {_listed(sorted(left_out))}"
    added = populations(text) - populations(passage)
    return f"the source says nothing about {_listed(sorted(added))}" if added else None


def _nearest_sentences(text: str, passage: str) -> str:
    """The sentences of the passage that the claim draws on: all that it contains verbatim, else the most
    alike."""
    parts = [passage[s.start : s.end] for s in sentence_spans(passage, "en")] or [passage]
    inside = [part for part in parts if _even(part).strip(" .") in _even(text)]
    if inside:
        return " ".join(inside)
    mine = stems(text)
    return max(parts, key=lambda part: len(mine & stems(part)) / (1 + len(mine | stems(part))))


def _verbatim_sentence(text: str, passage: str) -> bool:
    return any(
        _even(passage[s.start : s.end]).strip(" .*-") == _even(text).strip(" .*-")
        for s in sentence_spans(passage, "en")
    )


def _even(text: str) -> str:
    """White space, case and the style of quotation marks and apostrophes do not count in a quotation."""
    plain = text.translate({ord(mark): "'" for mark in "’‘‛`´"}).translate(
        {ord(mark): '"' for mark in "“”«»„"}
    )
    return " ".join(plain.casefold().split())


def _key(citation: Citation) -> RevisionKey:
    return citation.source, citation.external_id, citation.revision


def _listed(items: Sequence[object]) -> str:
    return ", ".join(f"[{item}]" if isinstance(item, int) else str(item) for item in items)
