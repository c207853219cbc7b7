"""What a role, a slug and a label may look like. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from uuid import UUID

from veraz.errors import UsageError

MOST_ROLES = 64
LABEL_LENGTH = 200
USER = "user:"
"""Labels of this form belong to one person: only a token's subject gives them."""
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def is_label(value: object) -> bool:
    return (
        isinstance(value, str) and value.strip() != "" and len(value) <= LABEL_LENGTH and value.isprintable()
    )


def is_tenant_name(value: object) -> bool:
    """A slug, or a UUID in its usual form with hyphens."""
    return isinstance(value, str) and (_SLUG.fullmatch(value) is not None or _is_uuid(value))


def _is_uuid(value: str) -> bool:
    try:
        return len(value) == 36 and str(UUID(value)) == value.lower()
    except ValueError:
        return False


def check_slug(slug: str) -> str:
    """Raises UsageError for what the database would refuse, and for what reads as the id of a tenant."""
    if not _SLUG.fullmatch(slug) or _is_uuid(slug):
        raise UsageError(
            f"tenant {slug[:80]!r} is not a slug",
            fix="use lower-case letters, digits, '-' and '_', at most 63: clinic-north",
        )
    return slug


def check_roles(roles: Iterable[str]) -> tuple[str, ...]:
    """The roles without repetitions. Raises UsageError for none, too many, or one that is no label."""
    kept = tuple(dict.fromkeys(roles))
    if not 0 < len(kept) <= MOST_ROLES:
        raise UsageError(f"{len(kept)} roles are given", fix=f"name 1 to {MOST_ROLES}: --roles public")
    for role in kept:
        if not is_label(role):
            raise UsageError(
                f"{str(role)[:40]!r} is no role", fix=f"use printable characters, at most {LABEL_LENGTH}"
            )
    return kept
