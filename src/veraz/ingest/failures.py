"""How an item that could not be taken is reported: the reason and the fix."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from veraz.errors import ItemError, MalformedResponse
from veraz.nouns.corpus import RawItem

if TYPE_CHECKING:
    import psycopg


def refused(item: RawItem, error: psycopg.Error) -> ItemError:
    reason = str(error).splitlines()[0]
    return ItemError(reason, path=item.path, external_id=item.external_id, stage="store")


def cannot_be_embedded(item: RawItem, error: MalformedResponse) -> ItemError:
    return ItemError(error.what, path=item.path, external_id=item.external_id, stage="embed", fix=error.fix)


def without_context(item: RawItem, shortfall: str, fix: str | None) -> ItemError:
    return ItemError(
        f"{shortfall}; [ingest] context_failure refuses it",
        path=item.path,
        external_id=item.external_id,
        stage="context",
        fix=fix,
    )


def erased(item: RawItem, when: datetime) -> ItemError:
    return ItemError(
        f"was erased on {when:%Y-%m-%d} and does not come back by itself",
        path=item.path,
        external_id=item.external_id,
        stage="store",
        fix="leave it out, or allow it again with: veraz restore EXTERNAL_ID --source SLUG",
    )


def deleted_meanwhile(item: RawItem) -> ItemError:
    return ItemError(
        "was deleted while it was being ingested; it stays deleted",
        path=item.path,
        external_id=item.external_id,
        stage="store",
        fix="ingest it again if it should come back",
    )
