"""A stored document in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veraz.cli.render.console import (
    counted,
    joined,
    one_line,
    plain_table,
    show_indented,
    show_pairs,
    show_parts,
    text,
)
from veraz.nouns.corpus import Access
from veraz.nouns.shown import Shown, ShownChunk, ShownRevision


def show_document(out: Console, shown: Shown, *, chunks: bool = False) -> None:
    revision = next(r for r in shown.revisions if r.number == shown.shown)
    out.print(text(one_line(revision.title), "bold cyan"))
    show_pairs(out, _facts(shown, revision))
    out.print(text("\nRevisions", "bold"))
    out.print(_revisions(shown))
    out.print()
    out.print(text("Sections", "bold"))
    for section in shown.sections:
        heading = one_line(section.heading) or "(before the first heading)"
        inside = sum(chunk.section == section.ord for chunk in shown.chunks)
        if section.ord == 0 and not inside:
            continue  # nothing but blank lines before the first heading
        line = text("  " * max(section.level, 1)) + text(heading)
        out.print(line + text(f"  {section.start}–{section.end}, {counted(inside, 'chunk')}", "dim"))
    if chunks:
        out.print(text("\nChunks", "bold"))
        for chunk in shown.chunks:
            _show_chunk(out, chunk)
    else:
        out.print(text(f"\n{counted(len(shown.chunks), 'chunk')}; --chunks shows them", "dim"))


def _facts(shown: Shown, revision: ShownRevision) -> Iterator[tuple[str, Any]]:
    yield "document", f"{shown.source}/{shown.external_id}"
    yield (
        "source",
        joined(
            [shown.source_name, f"authority {shown.authority} of 5", revision.license, revision.jurisdiction]
        ),
    )
    yield "published by", revision.publisher
    yield "url", revision.url
    yield "standing", _standing(shown)
    yield "supersedes", ", ".join(shown.supersedes)
    yield "edition of", joined([revision.item, revision.edition and f"edition {revision.edition}"])
    yield "type", shown.document_type
    yield "language", revision.lang
    yield "readable by", readers(shown.access)
    yield "published", revision.published_at
    yield "revised", revision.revised_at
    yield "valid", _validity(revision)
    yield "recognised", _recognised(revision)
    yield "text", f"{revision.length:,} code points, parsed by {revision.parser}, cut by {revision.chunker}"


def _recognised(revision: ShownRevision) -> str:
    """What OCR made of pages without text; other media may use that name for something else."""
    found = revision.meta.get("recognised")
    if revision.parser.split("/")[0] != "pdf" or not isinstance(found, Mapping):
        return ""
    pages = ", ".join(
        f"{page} ({confidence:.2f})"
        for page, confidence in zip(found["pages"], found["confidence"], strict=True)
    )
    return f"pages with their confidence: {pages}; by {found['engine']}"


def readers(access: Access) -> str:
    """Who may read, in words."""
    labels = ", ".join(map(one_line, access.labels))
    rule = {"any": labels, "all": f"who holds all of {labels}", "owner": "nobody else"}[access.rule]
    window = [
        f"from {access.readable_from:%Y-%m-%d %H:%M %Z}" if access.readable_from else "",
        f"until {access.readable_until:%Y-%m-%d %H:%M %Z}" if access.readable_until else "",
    ]
    owner = f"the owner {one_line(access.owner)}" if access.owner else ""
    return ", ".join(part for part in (owner, " ".join(filter(None, [rule, *window]))) if part)


def _standing(shown: Shown) -> Text:
    if shown.superseded_at:
        by = shown.superseded_by or "a document that you may not read"
        gone = "erased" if shown.successor_erased_at else "deleted" if shown.successor_deleted_at else ""
        since = f" from {shown.superseded_from}" if shown.superseded_from else ""
        said = ", as an operator said" if shown.supersession_pinned else ""
        return text(f"superseded by {by}{since}{f', which was {gone}' if gone else ''}{said}", "bold red")
    if shown.current_revision == shown.shown:
        return text("current", "green")
    return text(f"not the current revision, which is {shown.current_revision or 'none'}", "bold red")


def _validity(revision: ShownRevision) -> str:
    if not (revision.valid_from or revision.valid_to):
        return ""
    return f"{revision.valid_from or '…'} to {revision.valid_to or '…'}"


def _revisions(shown: Shown) -> Table:
    table = plain_table(
        "",
        "revision",
        "holds from",
        "revised",
        "ingested",
        "retired",
        "code points",
        right=("revision", "code points"),
    )
    for r in shown.revisions:
        mark = "→" if r.number == shown.shown else ""
        retired = f"{r.retired_at:%Y-%m-%d %H:%M}" if r.retired_at else ""
        table.add_row(
            mark,
            str(r.number),
            "" if r.effective_from.year == 1 else str(r.effective_from),
            str(r.revised_at or ""),
            f"{r.ingested_at:%Y-%m-%d %H:%M}",
            retired,
            f"{r.length:,}",
        )
    return table


def _show_chunk(out: Console, chunk: ShownChunk) -> None:
    places = ", ".join(f"{span.start}–{span.end}" for span in chunk.spans)
    page = f"page {chunk.page}" if chunk.page is not None else None
    head: list[Text | str | None] = [
        chunk.kind,
        " › ".join(map(one_line, chunk.heading_path)),
        places,
        page,
        f"{chunk.token_count} tokens",
    ]
    show_parts(out, head, 4, label=text(f"#{chunk.ord}", "bold"))
    standing = "" if chunk.is_current else " (not searched: superseded or not current)"
    show_indented(out, text(f"{chunk.chunk_id}{standing}", "dim"), 4)
    if chunk.context:
        show_indented(out, text(f"found by, as a model wrote: {one_line(chunk.context)}", "dim italic"), 4)
    # The line breaks of a paragraph are those of the file; anything else is shown line by line.
    show_indented(out, text(one_line(chunk.display) if chunk.kind == "paragraph" else chunk.display), 4)
    out.print()
