"""A stored trace, read from its JSON: a trace of another release may lack parts, and what is there is still shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veraz.cli.render.answer import OUTCOMES
from veraz.cli.render.console import (
    one_line,
    plain_table,
    revised,
    show_indented,
    show_pairs,
    show_parts,
    text,
    timings,
)

GONE = "deleted, purged, or not permitted to you"
PURGED = "this revision was purged; its text is gone"

Record = Mapping[str, Any]


def show_trace(out: Console, trace: Record) -> None:
    show_indented(out, text(one_line(trace["question"]), "bold cyan"), 0)
    show_pairs(out, _facts(trace))
    for title, stages in (("Search, by stage", "timings_ms"), ("Answer, by stage", "answer_timings_ms")):
        if trace.get(stages):
            _head(out, title)
            show_parts(out, timings(trace[stages]), 2)
    if trace.get("config"):
        _head(out, "Settings")
        show_parts(out, _settings(trace["config"]), 2)
    if trace.get("hits"):
        _head(out, "Candidates that were read, best first")
        out.print(_candidates(trace["hits"]))
    if trace.get("signals"):
        _head(out, "Signals of sufficiency")
        show_parts(out, [f"{name} {_figure(value)}" for name, value in trace["signals"].items()], 2)
    _show_reasoning(out, trace)


def _head(out: Console, title: str) -> None:
    out.print(text(f"\n{title}", "bold"))


def _facts(trace: Record) -> Iterator[tuple[str, Any]]:
    yield "trace", f"{trace['trace_id']} ({trace['kind']}, {trace['created_at'][:19].replace('T', ' ')})"
    yield "asked as", f"tenant {trace.get('tenant', '?')}, roles {', '.join(trace.get('roles', ()))}"
    words = OUTCOMES.get(trace["outcome"], (trace["outcome"], ""))[0]
    yield "outcome", trace["outcome"] if words == trace["outcome"] else f"{trace['outcome']}: {words}"
    yield "reason", trace.get("reason")
    if route := trace.get("route"):
        yield "route", f"rule {route['rule']} ({route['category']})"
        yield "message", route["message"]
    if trace.get("mode"):
        yield "searched", f"{trace['mode']}, question read as {trace.get('lang', '?')}"
    if trace.get("sufficiency") is not None:
        yield "sufficiency", f"{trace['sufficiency']:.2f}, threshold {_figure(trace.get('threshold'))}"
    if usage := trace.get("usage"):
        yield "made with", ", ".join(f"{name} {value}" for name, value in usage.items())
    if trace.get("shortfall"):
        yield "shortfall", ", ".join(f"{name} {value}" for name, value in trace["shortfall"].items())
    yield "notes", "; ".join(trace.get("notes") or ())


def _settings(config: Record, within: str = "") -> Iterator[str]:
    """`fusion minmax · lexical.budget 200000`"""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{within}{name}.")
        elif not isinstance(value, list):
            yield f"{within}{name} {_figure(value)}"


def _figure(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else "–" if value is None else str(value)


def _candidates(hits: Sequence[Record]) -> Table:
    reranked = ("rerank",) if any(hit.get("rerank") for hit in hits) else ()
    figures = ("score", "lexical", "semantic", *reranked)
    table = plain_table("", "document#chunk", *figures, right=("", *figures))
    for hit in hits:
        place = text(f"{hit['source']}/{hit['external_id']}#{hit['ord']}")
        if hit.get("revision", 1) != 1:
            place.append(f" r{hit['revision']}", style="dim")
        arms = [_place_in(hit.get("lexical"), 2), _place_in(hit.get("semantic"), 3)]
        arms += [_place_in(hit.get(name), 3) for name in reranked]
        table.add_row(str(hit["rank"]), place, f"{hit['score']:.4f}", *arms)
    return table


def _place_in(score: Record | None, digits: int) -> str:
    return f"#{score['rank']} {score['score']:.{digits}f}" if score else "–"


def _show_reasoning(out: Console, trace: Record) -> None:
    citations = {citation["n"]: citation for citation in trace.get("citations") or ()}
    if claims := trace.get("claims"):
        _head(out, "Claims")
        for number, claim in enumerate(claims, 1):
            marks = "".join(f"[{n}]" for n in claim["citations"])
            show_indented(
                out,
                text(f"rests on {marks or 'nothing'}, support {_figure(claim['support'])}"),
                6,
                label=text(f"  {number}."),
            )
    for conflict in trace.get("conflicts") or ():
        _head(out, "Conflict")
        sides = " against ".join("".join(f"[{n}]" for n in side) for side in conflict["sides"])
        show_indented(out, text(sides), 2)
    if citations:
        _head(out, "Citations")
    for citation in citations.values():
        _show_citation(out, citation)
    for replaced in trace.get("superseded") or ():
        show_indented(
            out,
            text(
                f"\nreplaced: {replaced['source']}/{replaced['external_id']}, by {replaced['superseded_by']}",
                "yellow",
            ),
            0,
        )
    if dropped := trace.get("dropped"):
        _head(out, "Claims that were dropped")
        for entry in dropped:
            show_indented(out, text(entry["why"]), 4, label=text("  •"))


def _show_citation(out: Console, citation: Record) -> None:
    place = (
        f"{citation['source']}/{citation['external_id']}#{citation['ord']}, revision {citation['revision']}"
    )
    span = f"{citation['start']}–{citation['end']}"
    heading = " › ".join(map(one_line, citation.get("heading_path") or ()))
    show_parts(
        out,
        [text(place, "cyan"), revised(citation.get("revised_at")), span],
        6,
        label=text(f"  [{citation['n']}]"),
    )
    if heading:
        show_indented(out, text(heading, "dim"), 6)
    show_indented(out, _quote(citation), 6)


def _quote(citation: Record) -> Text:
    if citation.get("available") and citation.get("quote") is not None:
        return text(f"“{one_line(citation['quote'])}”", "italic")
    return text(PURGED if citation.get("purged") else GONE, "bold red")
