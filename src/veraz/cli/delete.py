"""`veraz delete`"""

from __future__ import annotations

from datetime import datetime

import click

from veraz.cli.options import WORDS, verb
from veraz.cli.output import emit, plain
from veraz.cli.render.console import console, counted, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import ItemError, UsageError
from veraz.nouns.lifecycle import Erasure


@verb(
    "delete",
    example="veraz delete guides/fever.md --source handbook\nveraz delete guides/fever.md --source handbook --erase",
)
@click.argument("external_id", type=WORDS)
@click.option("--source", required=True, metavar="SLUG", help="The source that holds it.")
@click.option(
    "--erase",
    is_flag=True,
    help="Remove its text and vectors for good, in traces too: nothing brings them back.",
)
@click.option(
    "--rewrite",
    is_flag=True,
    help="With --erase: write the tables anew, so that no freed page keeps the text. Others wait meanwhile.",
)
@click.pass_obj
def command(state: State, external_id: str, source: str, erase: bool, rewrite: bool) -> None:
    """Remove a document: it is gone from the next query on.

    veraz restore brings it back until the retention policy purges it. With --erase its identity stays and nothing else, and
    an ingest of the same id is refused. What it superseded stays superseded. Exit code 4 when the source holds no such document,
    or holds it no more; a second --erase does what an interrupted one left undone, and says when the text went.
    """
    if rewrite and not erase:
        raise UsageError("--rewrite without --erase", fix="add --erase, or leave it out")
    if erase:
        _erase(state, external_id, source, rewrite=rewrite)
        return
    deleted = with_engine(state, lambda engine: engine.delete(external_id, source=source))
    if state.json:
        emit(state, {"external_id": external_id, "source": source, "deleted": deleted})
    if not deleted:
        raise _unknown(external_id, source)
    if not state.json:
        console().print(text(f"deleted {external_id} of {source}"))


def _erase(state: State, external_id: str, source: str, *, rewrite: bool) -> None:
    erased = with_engine(state, lambda engine: engine.erase(external_id, source=source, rewrite=rewrite))
    if state.json:
        place = {"external_id": external_id, "source": source}
        deleted = erased is not None and erased.erased_before is None
        emit(state, {**place, "deleted": deleted, **(plain(erased) if erased else {})})
    if erased is None:
        raise _unknown(external_id, source)
    if erased.erased_before is not None:
        raise _erased_before(erased, erased.erased_before)
    if not state.json:
        _tell(erased, rewritten=rewrite)


def _tell(erased: Erasure, *, rewritten: bool) -> None:
    gone = (counted(erased.revisions, "revision"), counted(erased.chunks, "chunk"))
    out = console()
    out.print(text(f"erased {erased.external_id} of {erased.source}: {', '.join(gone)}"))
    also = f" and {counted(erased.queries, 'evaluated question')}" if erased.queries else ""
    out.print(text(f"text removed from {counted(erased.traces, 'trace')}{also}"))
    if erased.remains:
        out.print(text(f"on the server's disk until vacuum: {erased.remains}", "bold red"))
    kept = ["write-ahead log", "replicas", "backups"]
    if not rewritten:
        kept.insert(0, "freed pages (see --rewrite)")
    out.print(text(f"may keep bytes of it until overwritten: {', '.join(kept)}", "dim"))


def _erased_before(erased: Erasure, when: datetime) -> ItemError:
    left = (
        f"still on the server's disk: {erased.remains}"
        if erased.remains
        else "the tables were vacuumed once more"
    )
    return ItemError(
        f"source {erased.source!r} holds it no more: already erased on {when:%Y-%m-%d}",
        external_id=erased.external_id,
        stage="delete",
        fix=f"{left}; veraz restore lets its id be ingested again",
    )


def _unknown(external_id: str, source: str) -> ItemError:
    return ItemError(
        f"source {source!r} holds no such document",
        external_id=external_id,
        stage="delete",
        fix="look its id up with veraz search; a deleted document is already gone",
    )
