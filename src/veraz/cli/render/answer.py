"""An answer in a terminal: what must be seen first comes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from veraz.cli.render.console import (
    explained_by,
    one_line,
    path_of,
    revised,
    show_indented,
    show_parts,
    standing,
    sufficiency_of,
    text,
    timings,
)
from veraz.nouns.answer import Answer, Citation, Conflict, Superseded

OUTCOMES: Mapping[str, tuple[str, str]] = {
    "answered": ("Answered from the sources below", "bold green"),
    "conflicting": ("The sources disagree", "bold yellow"),
    "insufficient": ("Not answered: the sources do not say enough", "bold yellow"),
    "routed": ("Not searched: a fixed rule answers this", "bold red"),
}


def show_answer(out: Console, answer: Answer) -> None:
    words, style = OUTCOMES[answer.outcome]
    if answer.route:
        # First and framed: the one thing that must not be overlooked.
        title = text(one_line(answer.route.category), "bold red")
        out.print(Panel(text(answer.route.message, "bold"), title=title, border_style="red", padding=(0, 1)))
        words = f"{words} (rule {answer.route.rule})"
    show_indented(out, text(words, style), 0)
    if body := _body(answer):
        out.print()
        show_indented(out, text(body), 0)
    if answer.uncertain:
        show_indented(
            out, text("\nThe evidence is weak: read the sources before relying on this.", "yellow"), 0
        )
    for conflict in answer.conflicts:
        _show_conflict(out, conflict, {c.n: c for c in answer.citations})
    for replaced in answer.superseded:
        show_indented(out, _superseded(replaced), 0)
    _show_sources(out, answer.citations)
    _show_end(out, answer)


def _body(answer: Answer) -> str:
    """The text below the outcome. A routed message was shown above it, and the sides of a conflict follow it."""
    if answer.route or answer.conflicts:
        return ""
    return answer.reason or answer.answer if answer.outcome == "insufficient" else answer.answer


def _show_conflict(out: Console, conflict: Conflict, citations: Mapping[int, Citation]) -> None:
    out.print()
    show_indented(out, text(f"On {one_line(conflict.topic)}:", "bold"), 0)
    for side in conflict.sides:
        cited = [citations[n] for n in side.citations if n in citations]
        marks = "".join(f" [{n}]" for n in side.citations)
        show_indented(out, text(f"{one_line(side.text)}{marks}"), 4, label=text("  •"))
        for citation in cited:
            place = [
                path_of(citation.title, ()),
                citation.publisher or citation.source,
                revised(citation.revised_at),
                f"authority {citation.authority}",
            ]
            show_parts(out, [text(part, "dim") for part in place], 4)


def _superseded(replaced: Superseded) -> Text:
    successor = replaced.successor_title or replaced.superseded_by
    notice = text(
        f"\nReplaced guidance: {one_line(replaced.title)} ({revised(replaced.revised_at)})", "yellow"
    )
    link = f" {replaced.successor_url}" if replaced.successor_url else ""
    return notice + text(
        f" was superseded by {one_line(successor)} ({replaced.superseded_by}){link}; it is not evidence here.",
        "yellow",
    )


def _show_sources(out: Console, citations: Iterable[Citation]) -> None:
    for number, citation in enumerate(citations):
        out.print()
        if number == 0:
            out.print("Sources", style="bold")
        out.print(
            text(f"[{citation.n}] ", "bold") + text(path_of(citation.title, citation.heading_path), "cyan")
        )
        page = f"page {citation.page}" if citation.page is not None else None
        page = f"{page}, recognised by OCR" if citation.recognised else page
        place = f"{citation.source}/{citation.external_id}#{citation.ord}"
        show_parts(out, [place, revised(citation.revised_at), page, standing(citation)], 4)
        if citation.url:
            show_indented(out, text(citation.url, "dim"), 4)
        show_indented(out, text(f"“{one_line(citation.quote)}”", "italic"), 4)


def _show_end(out: Console, answer: Answer) -> None:
    out.print()
    for dropped in answer.dropped:
        show_indented(out, text(f"left out: {one_line(dropped.text)} ({dropped.why})", "dim"), 0)
    for note in answer.notes:
        show_indented(out, text(f"note: {note}", "yellow"), 0)
    show_parts(out, [sufficiency_of(answer)])
    show_parts(out, timings(answer.timings_ms))
    out.print(text(explained_by(answer.trace_id, answer.access.get("tenant")), "dim"), soft_wrap=True)
