"""From the claims of a genuine token to a tenant and labels, by the mapping of [auth]. Pure.

A claim of another shape than expected is refused, never bent: roles that are one string are not taken for its characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from veraz.config import AuthConfig
from veraz.errors import AccessDenied
from veraz.identity.roles import LABEL_LENGTH, MOST_ROLES, USER, is_label, is_tenant_name

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token gives, before its tenant was looked up. `tenant` is a slug or an id."""

    tenant: str
    roles: tuple[str, ...]
    may_write: bool
    subject: str | None


def granted(claims: Mapping[str, Any], settings: AuthConfig, tenant: str) -> Grant:
    """`tenant`: the configured one, for tokens that name none. Raises AccessDenied for a malformed claim."""
    subject = _subject(claims, settings.subject_claim)
    given = _roles(claims, settings.roles_claim)
    labels = [*settings.default_roles, *_labels(given, settings), *([USER + subject] if subject else [])]
    roles = tuple(dict.fromkeys(labels))
    if len(roles) > MOST_ROLES:
        raise _malformed(settings.roles_claim, f"gives more than {MOST_ROLES} labels")
    may_write = not set(given).isdisjoint(settings.write_roles)
    return Grant(_tenant(claims, settings.tenant_claim, tenant), roles, may_write, subject)


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """The claim of that very name, which may hold dots as URLs do, or else the one that a dotted path leads to."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found


def _tenant(claims: Mapping[str, Any], path: str, configured: str) -> str:
    if not path:
        return configured
    value = claim_at(claims, path)
    if value is _MISSING:
        raise _malformed(path, "is missing: it names the tenant")
    if not is_tenant_name(value):
        raise _malformed(path, "is neither a tenant's slug nor its id")
    return str(value)


def _subject(claims: Mapping[str, Any], path: str) -> str | None:
    value = claim_at(claims, path)
    if value is _MISSING:
        return None
    if not is_label(value) or len(USER) + len(value) > LABEL_LENGTH:
        raise _malformed(path, f"is no string of printable characters, at most {LABEL_LENGTH - len(USER)}")
    return str(value)


def _roles(claims: Mapping[str, Any], path: str) -> tuple[str, ...]:
    value = claim_at(claims, path)
    if value is _MISSING:
        return ()
    if not isinstance(value, list):
        raise _malformed(path, "is not a list of strings")
    if len(value) > MOST_ROLES:
        raise _malformed(path, f"holds more than {MOST_ROLES} roles")
    if not all(is_label(role) for role in value):
        raise _malformed(path, f"holds what is no string of printable characters, at most {LABEL_LENGTH}")
    return tuple(value)


def _labels(given: Iterable[str], settings: AuthConfig) -> list[str]:
    """A role that nobody mapped gives nothing, unless all are passed on; the label of a person is the subject's alone."""
    labels: list[str] = []
    for role in given:
        if role in settings.roles:
            labels += settings.roles[role]
        elif settings.pass_roles and not role.startswith(USER):
            labels.append(role)
    return labels


def _malformed(path: str, what: str) -> AccessDenied:
    return AccessDenied(f"the token's claim {path} {what}", fix="compare the token's claims with [auth]")
