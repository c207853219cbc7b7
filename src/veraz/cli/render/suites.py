"""How judgements stand to what is ingested, and to one another."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from veraz.cli.render.console import counted, plain_table, show_pairs, text
from veraz.nouns.suite import Agreement, Binding

WHY = {
    "document": "document not there, not readable or not current",
    "text": "text is not in it any more",
    "chunk": "no chunk covers it",
}
SHOWN = 20


def show_binding(out: Console, binding: Binding) -> None:
    show_pairs(
        out,
        [
            ("judgements", f"{binding.judgements:,}"),
            ("bound", f"{binding.bound:,} ({binding.share:.2%}), {binding.moved:,} of them at another place"),
        ],
    )
    if not binding.unbound:
        return
    table = plain_table("query", "document", "span", "grade", "why", right=("grade",))
    for u in binding.unbound[:SHOWN]:
        where = f"{u.start}–{u.end}" if u.end else "all of it"
        document = f"{u.source}/{u.external_id}" if u.source else u.external_id
        table.add_row(text(u.query_id), text(document), where, str(u.grade), WHY[u.why])
    out.print()
    out.print(table)
    if len(binding.unbound) > SHOWN:
        out.print(text(f"and {len(binding.unbound) - SHOWN:,} more: --json lists them all"))


def show_agreements(out: Console, pairs: Sequence[Agreement]) -> None:
    if not pairs:
        out.print(text("no passage was judged by two judges"))
        return
    table = plain_table("judges", "passages", "equal", "kappa", right=("passages", "equal", "kappa"))
    for p in pairs:
        kappa = "–" if p.kappa is None else f"{p.kappa:.2f}"
        table.add_row(
            text(f"{p.a or 'unnamed'}, {p.b or 'unnamed'}"), f"{p.passages:,}", f"{p.raw:.1%}", kappa
        )
    out.print(table)
    for p in pairs:
        for query_id, unit, of_a, of_b in p.apart[:SHOWN]:
            out.print(text(f"{p.a} {of_a}, {p.b} {of_b}: {query_id}, {unit}"))
        if len(p.apart) > SHOWN:
            rest = counted(len(p.apart) - SHOWN, "passage")
            out.print(text(f"and {rest} more, two or more apart: --json lists them all"))
