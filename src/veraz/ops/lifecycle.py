"""Deletion, erasure and an operator's supersession of single documents.

Each takes the document's lock first, so that an ingest of the same document is over or has not begun to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, NoReturn
from uuid import UUID

from psycopg.errors import IntegrityConstraintViolation

from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.errors import ItemError, UsageError
from veraz.nouns.corpus import Access
from veraz.nouns.lifecycle import Erasure, Restored, Standing
from veraz.nouns.shown import HiddenSuccessor
from veraz.text.decode import require_storable


async def standing(
    connection: Connection, source: str, external_id: str, *, lock: bool = True
) -> Standing | None:
    """The document, deleted or not, in mode "write" or as the maintenance role; None where there is none."""
    require_storable("document", external_id, source)
    place = {"source": source, "external_id": external_id}
    if lock:
        await connection.execute(statement("ops", "lock_document"), place)
    row = await (await connection.execute(statement("ops", "document_standing"), place)).fetchone()
    if row is None:
        return None
    labels, rule, owner, readable_from, readable_until = row[9:]
    access = Access(tuple(labels), rule, owner, readable_from, readable_until)
    return Standing(access, *row[:9])


async def required(
    connection: Connection, source: str, external_id: str, stage: str, *, lock: bool = True
) -> Standing:
    """The same; raises ItemError where there is none. `stage` is the verb that needs it."""
    found = await standing(connection, source, external_id, lock=lock)
    if found is None:
        raise ItemError(
            f"source {source!r} holds no such document",
            external_id=external_id,
            stage=stage,
            fix="check the id, --source and --tenant; veraz search shows the ids that it finds",
        )
    return found


async def restore(connection: Connection, source: str, external_id: str) -> Restored | None:
    """Takes a deletion back. None for an erased document, whose tombstone only `lift_tombstone` may lift. Raises ItemError where
    nothing was deleted, or no text is left to bring back."""
    found = await required(connection, source, external_id, "restore")
    if found.erased_at is not None:
        return None
    if found.deleted_at is None:
        _refuse(found, "is not deleted", "nothing needs to be done")
    if not found.has_text:
        _refuse(found, "was purged: its text is gone", "ingest it again")
    await connection.execute(statement("ops", "undelete_document"), {"document_id": found.document_id})
    return Restored(external_id, source, text_is_gone=False)


async def lift_tombstone(connection: Connection, source: str, external_id: str) -> Restored:
    """As the maintenance role: an erased document may be ingested again."""
    found = await required(connection, source, external_id, "restore")
    await connection.execute(statement("ops", "lift_tombstone"), {"document_id": found.document_id})
    return Restored(external_id, source, text_is_gone=True)


def _refuse(found: Standing, reason: str, fix: str) -> NoReturn:
    raise ItemError(f"the document {reason}", external_id=found.external_id, stage="restore", fix=fix)


# --- supersession by an operator's word


async def supersede(connection: Connection, source: str, old: str, new: str, since: date | None) -> Standing:
    """`old` is replaced by `new` from the day `since` on (None: today). Raises ItemError for a document that there is not,
    UsageError for a successor that is gone, and for a cycle, naming it."""
    replaced = await _held(connection, source, old)
    successor = await required(connection, source, new, "supersede")
    if successor.deleted_at is not None:
        raise UsageError(
            f"{new!r} is deleted, so it cannot replace {old!r}",
            fix=f"bring it back first: veraz restore {new} --source {source}",
        )
    await _pin(connection, replaced.document_id, successor.document_id, since)
    return await required(connection, source, old, "supersede", lock=False)


async def unsupersede(connection: Connection, source: str, old: str) -> Standing:
    """The document counts again, whatever others declare. The operator's word is kept only where one is needed for that."""
    found = await _held(connection, source, old)
    if found.pinned and found.superseded_by is None:
        return found
    try:
        async with connection.transaction():
            free = (await _follow_declarations(connection, found)).superseded_by is None
    except UsageError:  # what is declared would form a cycle
        free = False
    if not free:
        await _pin(connection, found.document_id, None, None)
    return await required(connection, source, old, "supersede", lock=False)


async def as_declared(connection: Connection, source: str, old: str) -> Standing:
    """Takes the operator's word back: what documents declare counts again."""
    return await _follow_declarations(connection, await _held(connection, source, old))


async def _held(connection: Connection, source: str, old: str) -> Standing:
    """The document whose place is decided, with the locks that it takes. Raises ItemError for one that holds no text any more."""
    await connection.execute(statement("ops", "lock_supersession"))
    found = await required(connection, source, old, "supersede")
    if not found.has_text:
        raise ItemError(
            "the document was purged or erased: there is no text that could be replaced or count again",
            external_id=old,
            stage="supersede",
            fix="ingest it again first",
        )
    return found


async def _follow_declarations(connection: Connection, found: Standing) -> Standing:
    try:
        await connection.execute(statement("ops", "unpin_supersession"), {"document_id": found.document_id})
    except IntegrityConstraintViolation as error:
        raise _cycle(error) from error
    return await required(connection, found.source, found.external_id, "supersede", lock=False)


async def _pin(connection: Connection, document: UUID, by: UUID | None, since: date | None) -> None:
    parameters = {"document_id": document, "by_document": by, "since": since}
    try:
        await connection.execute(statement("ops", "pin_supersession"), parameters)
    except IntegrityConstraintViolation as error:
        raise _cycle(error) from error


def _cycle(error: IntegrityConstraintViolation) -> UsageError:
    reason = error.diag.message_primary or "supersession would form a cycle"
    return UsageError(reason, fix="undo one of these links first: veraz supersede OLD --undo --source SLUG")


async def hidden_successor(connection: Connection, document_id: UUID) -> HiddenSuccessor | None:
    """The deleted successor of a document that the caller has read, if the caller could read it were it not deleted. In mode
    "write"."""
    parameters = {"document_id": document_id}
    row = await (await connection.execute(statement("ops", "hidden_successor"), parameters)).fetchone()
    return HiddenSuccessor(*row) if row else None


# --- erasure


async def erase(connection: Connection, source: str, external_id: str) -> tuple[Erasure, str] | None:
    """As the maintenance role, told the tenant. Returns what went, and the transaction that removed it; None where there is no
    such document. Safe to repeat: what an interrupted run left undone is done."""
    found = await standing(connection, source, external_id, lock=False)
    if found is None:
        return None
    erased: Mapping[str, Any] = {"document_id": found.document_id}
    row = await (await connection.execute(statement("ops", "erase_document"), erased)).fetchone()
    assert row is not None
    named = {"source": source, "external_id": external_id}
    traces = (await connection.execute(statement("ops", "erase_traces"), named)).rowcount
    queries = (await connection.execute(statement("ops", "erase_runs"), named)).rowcount
    return Erasure(external_id, source, row[0], row[1], traces, None, found.erased_at, queries), str(row[2])


async def erase_drafts(connection: Connection, document_id: UUID) -> int:
    """As the maintenance role: what a model wrote about a document that is not there, and why it could not be taken. Returns how
    many lines the model wrote."""
    await connection.execute(statement("ops", "erase_failure"), {"document_id": document_id})
    return (await connection.execute(statement("ops", "erase_drafts"), {"document_id": document_id})).rowcount


async def older_readers(connection: Connection, transaction: str, *, everywhere: bool) -> int:
    """Transactions that keep vacuum from what `transaction` removed, in this database or on the whole server."""
    row = await (
        await connection.execute(
            statement("ops", "older_readers"), {"xid": transaction, "everywhere": everywhere}
        )
    ).fetchone()
    assert row is not None
    return int(row[0])
