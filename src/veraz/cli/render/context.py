"""Passages for a reader: as they are where a program reads, laid out where a person does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click
from rich.console import Console
from rich.text import Text

from veraz.cli.render.console import (
    clean,
    counted,
    explained_by,
    path_of,
    revised,
    show_indented,
    show_parts,
    standing,
    sufficiency_of,
    text,
    timings,
)
from veraz.nouns.context import Context
from veraz.nouns.evidence import Passage

INDENT = 4
WHY = {
    "budget": "over the budget",
    "per_document": "of documents that gave enough",
    "gone": "gone in the meantime",
}


def show_context(out: Console, aside: Console, found: Context, *, tenant: str | None = None) -> None:
    """The passages to `out`, everything about them to `aside`. What is no terminal gets `found.text` as it is, but for signs
    that a terminal would obey: lines that are broken for an eye would be other text to a model."""
    if out.is_terminal:
        for passage in found.passages:
            _show_passage(out, passage)
    elif found.passages:
        click.echo(clean(found.text))
    if not found.passages:
        show_indented(aside, text("nothing found" if not found.left_out else "nothing fits", "bold"), 0)
    for note in (*found.notes, *_left_out(found)):
        show_indented(aside, text(f"note: {note}", "yellow"), 0)
    documents = len({passage.document.document_id for passage in found.passages})
    show_parts(
        aside,
        [
            f"{counted(len(found.passages), 'passage')} of {counted(documents, 'document')}",
            f"{found.tokens:,} of {found.budget:,} tokens",
            found.mode,
            f"question read as {found.lang}",
            sufficiency_of(found),
        ],
    )
    show_parts(aside, timings(found.timings_ms))
    if found.trace_id is not None:
        aside.print(text(explained_by(found.trace_id, tenant), "dim"), soft_wrap=True)


def _show_passage(out: Console, passage: Passage) -> None:
    document = passage.document
    heading = text(path_of(document.title, passage.heading_path) or document.external_id, "bold cyan")
    show_indented(out, heading, INDENT, label=text(f"[{passage.n}]", "bold"))
    ranks = ", ".join(f"#{rank}" for rank in sorted(c.rank for c in passage.chunks if c.rank is not None))
    parts: list[Text | str | None] = [
        f"{document.source}/{document.external_id}",
        f"p. {passage.page}" if passage.page is not None else None,
        revised(document.revised_at),
        standing(document, current="current"),
        f"hits {ranks}" if ranks.count("#") > 1 else f"hit {ranks}",
        text("cut to fit", "yellow") if passage.truncated else None,
    ]
    show_parts(out, parts, INDENT)
    show_indented(out, text(passage.text.strip("\n")), INDENT)
    out.print()


def _left_out(found: Context) -> Iterator[str]:
    counts = Counter(left.why for left in found.left_out)
    if counts:
        said = ", ".join(f"{number} {WHY[why]}" for why, number in counts.items())
        yield f"{counted(len(found.left_out), 'hit')} left out: {said}"
