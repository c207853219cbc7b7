"""How an item that could not be taken is reported: the reason and the fix."""

from __future__ import annotations

from datetime import datetime

import psycopg

from veraz.errors import ItemError, MalformedResponse
from veraz.nouns.corpus import RawItem

_FIXES: tuple[tuple[type[psycopg.Error], str], ...] = (
    (
        psycopg.errors.ProgramLimitExceeded,
        "split the document, or shorten what is very long in it: a word, an id, a list",
    ),
    (psycopg.DataError, "mend the text or value that the message names, or leave the document out"),
    (psycopg.errors.IntegrityConstraintViolation, "mend what one of these documents says that it replaces"),
    (psycopg.IntegrityError, "ingest it again; if it is refused again, run `veraz status`"),
    (psycopg.Error, "run `veraz status`, then ingest it again"),
)


def refused(item: RawItem, error: psycopg.Error) -> ItemError:
    """What the server said, and what helps by its kind. It may say nothing at all."""
    said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    is_ours = isinstance(error, psycopg.errors.IntegrityConstraintViolation)  # worded by raise_cycle
    return ItemError(
        said if is_ours else f"the database does not take it: {said}",
        path=item.place,
        external_id=item.external_id,
        stage="store",
        fix=next(fix for kind, fix in _FIXES if isinstance(error, kind)),
    )


def cannot_be_embedded(item: RawItem, error: MalformedResponse) -> ItemError:
    return ItemError(error.what, path=item.place, external_id=item.external_id, stage="embed", fix=error.fix)


def without_context(item: RawItem, shortfall: str, fix: str | None) -> ItemError:
    return ItemError(
        f"{shortfall}; [ingest] context_failure refuses it",
        path=item.place,
        external_id=item.external_id,
        stage="context",
        fix=fix,
    )


def erased(item: RawItem, when: datetime) -> ItemError:
    return ItemError(
        f"was erased on {when:%Y-%m-%d} and does not come back by itself",
        path=item.place,
        external_id=item.external_id,
        stage="store",
        fix="leave it out, or allow it again with: veraz restore EXTERNAL_ID --source SLUG",
    )


def deleted_meanwhile(item: RawItem) -> ItemError:
    return ItemError(
        "was deleted while it was being ingested; it stays deleted",
        path=item.place,
        external_id=item.external_id,
        stage="store",
        fix="ingest it again if it should come back",
    )
