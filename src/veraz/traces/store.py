"""Writing and reading traces. A trace holds ids, offsets, scores and settings, never the text of documents: `why` shows live
text under the reader's own rights, or says that it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from veraz.db.identifiers import ids_from
from veraz.db.json import storable
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.errors import UsageError
from veraz.nouns.trace import LiveQuote, Place, Trace


async def insert(
    connection: Connection, trace_id: UUID, kind: str, question: str, outcome: str, record: Mapping[str, Any]
) -> None:
    parameters = {
        "trace_id": trace_id,
        "kind": kind,
        "question": question,
        "outcome": outcome,
        "record": storable(record),
    }
    await connection.execute(statement("traces", "insert"), parameters)


async def find(connection: Connection, prefix: str) -> Trace:
    """The trace whose id is, or begins with, `prefix`. Raises UsageError where none or several do."""
    between = ids_from(prefix)
    rows = (
        await (await connection.execute(statement("traces", "find"), between)).fetchall() if between else []
    )
    if not rows:
        raise UsageError(
            f"no trace {prefix!r} that you may read",
            fix="copy the trace id from the answer, and use the same --tenant and --roles",
        )
    if len(rows) > 1:
        raise UsageError(f"several traces begin with {prefix!r}", fix="give more characters of the id")
    return Trace(*rows[0])


async def live_quotes(connection: Connection, trace: Trace) -> dict[Place, LiveQuote]:
    """What the trace's citations point at, as far as the reader may read it now."""
    cited = [
        (c["source"], c["external_id"], c["revision"], c["start"], c["end"])
        for c in trace.record.get("citations", ())
    ]
    if not cited:
        return {}
    columns = dict(
        zip(
            ("sources", "external_ids", "revisions", "starts", "ends"),
            map(list, zip(*cited, strict=True)),
            strict=True,
        )
    )
    parameters = {**columns, "traced_at": trace.created_at}
    cursor = await connection.execute(statement("traces", "live_quotes"), parameters)
    return {
        (row[0], row[1], row[2], row[3], row[4]): LiveQuote(row[5], tuple(row[6] or ()))
        for row in await cursor.fetchall()
    }
