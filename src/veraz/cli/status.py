"""`veraz status`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from veraz.cli.options import verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, counted, joined, plain_table, show_pairs, size, text
from veraz.cli.session import with_engine
from veraz.cli.state import State

if TYPE_CHECKING:
    from veraz.nouns.status import SpaceIndexed, Status


@verb("status", example="veraz status --json")
@click.pass_obj
def command(state: State) -> None:
    """Server, schema, embedding spaces, counts, and the health of indexes and vacuum.

    Counts are over all tenants. It reports and exits 0, also when a check is not ok.
    """
    status = with_engine(state, lambda engine: engine.status())
    if state.json:
        emit(state, status)
        return
    out = console()
    show_pairs(out, _rows(status))
    if status.lexical:
        out.print()
        out.print(_lexical(status))
    out.print()
    for check in status.health:
        out.print(
            joined(
                [text("ok", "green") if check.ok else text("not ok", "bold red"), check.check, check.detail]
            )
        )
        if check.fix and not check.ok:
            out.print(text(f"  fix: {check.fix}"))


def _rows(status: Status) -> Iterator[tuple[str, Any]]:
    database, counts = status.database, status.counts
    yield "veraz", status.version
    yield (
        "server",
        f"PostgreSQL {database['server_version']}, pgvector {database['pgvector']}"
        + (", embedded" if database["embedded"] else ""),
    )
    yield "connected as", database.get("url", "")
    yield "schema", f"version {status.schema_version}"
    for space in status.spaces:
        active = "active" if space.get("active") else "not active"
        yield (
            "space",
            f"{space['name']} ({space['model']}, {space['dimension']} dimensions, {space['distance']}, {active})",
        )
        if (index := space.get("index")) is not None:
            yield "its index", _index(index)
    yield (
        "corpus",
        f"{counted(counts.documents, 'document')}, {counted(counts.revisions, 'revision')}, {counted(counts.chunks, 'chunk')}",
    )
    yield "in", f"{counted(counts.sources, 'source')} of {counted(counts.tenants, 'tenant')}"


def _index(index: SpaceIndexed) -> str:
    if index.kind == "none":
        return "none: every vector is compared"
    options = "".join(f", {name} {value}" for name, value in index.options.items())
    built = f", built {index.built_at:%Y-%m-%d %H:%M}" if index.built_at else ""
    return f"{index.kind}{options}, {'missing' if index.bytes is None else size(index.bytes)}{built}"


def _lexical(status: Status) -> Any:
    table = plain_table(
        "tenant",
        "analyser",
        "chunks",
        "postings merged",
        "in deltas",
        right=("chunks", "postings merged", "in deltas"),
    )
    for entry in status.lexical:
        table.add_row(
            text(entry.tenant), entry.analyser, f"{entry.chunks:,}", f"{entry.merged:,}", f"{entry.delta:,}"
        )
    return table
